// What is written into outputs before a run: where it is still there, nothing was computed.
#pragma once

#include <cstdint>
#include <cstring>

namespace engine::kernels::openvino {

/// No number that OpenVINO computes: a signalling NaN of 64 bits, and far beyond 32 bits.
constexpr std::uint64_t mark = 0x7ff1a5c3'7fb1a5c3;

[[nodiscard]] constexpr bool holds_mark(std::size_t bytes) noexcept {
  return bytes >= sizeof(mark);
}

/// `data` holds a mark.
inline void put_mark(void* data) noexcept { std::memcpy(data, &mark, sizeof(mark)); }

[[nodiscard]] inline bool has_mark(const void* data) noexcept {
  return std::memcmp(data, &mark, sizeof(mark)) == 0;
}

}  // namespace engine::kernels::openvino
