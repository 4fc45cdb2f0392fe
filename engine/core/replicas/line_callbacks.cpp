#include "replicas/line_callbacks.hpp"

#include <algorithm>
#include <exception>

namespace engine::replicas {

namespace {

constexpr std::size_t largest_sent_frame = 256 * 1024;

std::string_view text(const std::uint8_t* data, std::size_t bytes) {
  return {reinterpret_cast<const char*>(data), bytes};
}

/// No exception passes through the library.
template <typename Action>
int guarded(Action&& action) noexcept {
  try {
    action();
    return http2::status::ok;
  } catch (const std::exception&) {
    return http2::status::callback_failure;  // out of memory: the connection ends
  }
}

}  // namespace

int LineCallbacks::header(http2::Session*, const http2::FrameHeader* frame,
                          const std::uint8_t* name, std::size_t name_bytes,
                          const std::uint8_t* value, std::size_t value_bytes, std::uint8_t,
                          void* user) {
  return guarded([&] {
    if (auto* const call = of(user).find(frame->stream))
      of(user).take_header(*call, text(name, name_bytes), text(value, value_bytes));
  });
}

int LineCallbacks::frame(http2::Session*, const http2::FrameHeader* frame, void* user) {
  return guarded([&] {
    ReplicaLine& line = of(user);
    if (frame->type == http2::frame::settings) line.is_up_ = true;
    if (frame->type == http2::frame::goaway) line.is_leaving_ = true;
    const bool may_end = frame->type == http2::frame::headers || frame->type == http2::frame::data;
    if (!may_end || (frame->flags & http2::frame::end_stream) == 0) return;
    if (auto* const call = line.find(frame->stream)) line.end_of_answer(*call);
  });
}

int LineCallbacks::data(http2::Session*, std::uint8_t, std::int32_t stream,
                        const std::uint8_t* data, std::size_t bytes, void* user) {
  return guarded([&] {
    if (auto* const call = of(user).find(stream))
      of(user).take_data(*call, {reinterpret_cast<const std::byte*>(data), bytes});
  });
}

int LineCallbacks::closed(http2::Session*, std::int32_t stream, std::uint32_t error, void* user) {
  return guarded([&] { of(user).close(stream, error); });
}

ssize_t LineCallbacks::read(http2::Session*, std::int32_t, std::uint8_t*, std::size_t most,
                            std::uint32_t* flags, void** source, void*) {
  const auto& call = *static_cast<const ReplicaLine::LineCall*>(*source);
  const std::size_t left = call.prefix.size() + call.content.size() - call.sent;
  *flags |= http2::data_flag::no_copy;
  if (left <= most) *flags |= http2::data_flag::eof;
  return static_cast<ssize_t>(std::min(left, most));
}

int LineCallbacks::send_data(http2::Session*, http2::FrameHeader*, const std::uint8_t* header,
                             std::size_t bytes, void** source, void* user) {
  return guarded(
      [&] { of(user).send_out(*static_cast<ReplicaLine::LineCall*>(*source), header, bytes); });
}

ssize_t LineCallbacks::frame_length(http2::Session*, std::uint8_t, std::int32_t,
                                    std::int32_t connection, std::int32_t stream,
                                    std::uint32_t most, void*) {
  const auto window = static_cast<std::size_t>(std::max(1, std::min(connection, stream)));
  return static_cast<ssize_t>(std::min({window, std::size_t{most}, largest_sent_frame}));
}

http2::Callbacks* LineCallbacks::made(const http2::Api& api) {
  http2::Callbacks* callbacks = nullptr;
  http2::check(api, api.callbacks_new(&callbacks), "callbacks");
  api.set_on_header(callbacks, header);
  api.set_on_frame_recv(callbacks, frame);
  api.set_on_data_chunk_recv(callbacks, data);
  api.set_on_stream_close(callbacks, closed);
  api.set_send_data(callbacks, send_data);
  api.set_data_read_length(callbacks, frame_length);
  return callbacks;
}

}  // namespace engine::replicas
