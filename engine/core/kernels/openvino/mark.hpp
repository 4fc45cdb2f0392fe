// What is written into outputs before a run: where it is still there, nothing was computed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace engine::kernels::openvino {

/// No number that OpenVINO computes: a signalling NaN of 64 bits, its first half (this is for
/// little-endian processors) one of 32 bits, and far beyond the 32 bits that integers have there.
/// Of an int32 alone it is one number of 2^32.
constexpr std::uint64_t mark_bits = 0x7ff1a5c3'7fb1a5c3;
constexpr std::size_t fewest_marked_bytes = 4;

/// Whether an output of `bytes` can be marked.
[[nodiscard]] constexpr bool holds_mark(std::size_t bytes) noexcept {
  return bytes >= fewest_marked_bytes;
}

/// Into the first of `bytes`, which hold a mark.
inline void put_mark(void* data, std::size_t bytes) noexcept {
  std::memcpy(data, &mark_bits, std::min(bytes, sizeof(mark_bits)));
}

[[nodiscard]] inline bool has_mark(const void* data, std::size_t bytes) noexcept {
  return std::memcmp(data, &mark_bits, std::min(bytes, sizeof(mark_bits))) == 0;
}

}  // namespace engine::kernels::openvino
