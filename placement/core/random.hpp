// Numbers at random that are the same on every machine, which those of <random> are not.
#pragma once

#include <cstdint>

#include "index_lists.hpp"

namespace placement {

/// Another number for each number, without any pattern (SplitMix64's finish; Steele, Lea, Flood:
/// Fast splittable pseudorandom number generators, OOPSLA 2014).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t number) noexcept {
  number += 0x9E3779B97F4A7C15;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EB;
  return number ^ (number >> 31);
}

/// SplitMix64. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept { return mixed(state_ += 0x9E3779B97F4A7C15); }
  /// From 0 to below `count`, which is >= 1.
  Index below(Index count) noexcept {
    return static_cast<Index>(((next() >> 32) * static_cast<std::uint64_t>(count)) >> 32);
  }
  /// Above 0, at most 1.
  double unit() noexcept { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }
  bool chance(double share) noexcept { return unit() <= share; }

 private:
  std::uint64_t state_;
};

}  // namespace placement
