// XXH64: tells a file that changed by accident from what was written, about as fast as memory is
// read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace engine {

/// A checksum over bytes in any number of pieces; not thread-safe, allocates nothing.
///
/// It finds damage, not malice: who can write the file can write a fitting checksum.
/// Reference: Yann Collet, xxHash, XXH64 with seed 0
/// (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
class Checksum {
 public:
  void add(const void* bytes, std::size_t count) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  static constexpr std::size_t stripe_bytes = 32;

  /// As many stripes as there are whole ones; returns the bytes taken.
  std::size_t add_stripes(const std::byte* bytes, std::size_t count) noexcept;

  /// Its primes: first and second, the second, 0, and minus the first.
  std::array<std::uint64_t, 4> lanes_{0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0,
                                      0x61C8864E7A143579};
  std::array<std::byte, stripe_bytes> rest_{};
  std::uint64_t total_bytes_ = 0;
};

/// What an open file holds from its start on.
struct FileSum {
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

/// Reads a file by its descriptor, whose position stays. It is read, not mapped: a file that
/// somebody truncates meanwhile ends earlier, where a mapping would end the process. Throws
/// std::system_error.
[[nodiscard]] FileSum sum_of_file(int descriptor);

}  // namespace engine
