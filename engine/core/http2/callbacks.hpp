// What all that libnghttp2 calls have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

#include "http2/api.hpp"

namespace engine::http2 {

[[nodiscard]] inline std::string_view text(const std::uint8_t* data, std::size_t bytes) noexcept {
  return {reinterpret_cast<const char*>(data), bytes};
}

/// No exception passes through the library.
template <typename Action>
int guarded(Action&& action) noexcept {
  try {
    action();
    return status::ok;
  } catch (const std::exception&) {
    return status::callback_failure;  // out of memory: the connection ends
  }
}

/// Whether nothing of its stream comes after the frame.
[[nodiscard]] inline bool ends_stream(const FrameHeader& header) noexcept {
  const bool may_end = header.type == frame::headers || header.type == frame::data;
  return may_end && (header.flags & frame::end_stream) != 0;
}

/// How long a frame of data is: as the windows and the other side allow, 256 KiB at most.
inline ssize_t frame_length(Session*, std::uint8_t, std::int32_t, std::int32_t connection_window,
                            std::int32_t stream_window, std::uint32_t most, void*) {
  constexpr std::size_t largest_sent = 256 * 1024;
  const auto window =
      static_cast<std::size_t>(std::max(1, std::min(connection_window, stream_window)));
  return static_cast<ssize_t>(std::min({window, std::size_t{most}, largest_sent}));
}

}  // namespace engine::http2
