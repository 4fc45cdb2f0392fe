// Random numbers that are the same everywhere: splitmix64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace engine::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    std::uint64_t mixed = state_ += 0x9E37'79B9'7F4A'7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58'476D'1CE4'E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D0'49BB'1331'11EB;
    return mixed ^ mixed >> 31;
  }
  /// From 0 on; `count` is at least 1.
  [[nodiscard]] std::size_t below(std::size_t count) noexcept { return next() % count; }
  [[nodiscard]] bool one_in(std::size_t count) noexcept { return below(count) == 0; }
  template <typename T, std::size_t count>
  [[nodiscard]] const T& one_of(const T (&choices)[count]) noexcept {
    return choices[below(count)];
  }

 private:
  std::uint64_t state_;
};

}  // namespace engine::fuzz
