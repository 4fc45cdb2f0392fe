#include "replicas/line_callbacks.hpp"

#include <algorithm>

#include "http2/callbacks.hpp"

namespace engine::replicas {

int LineCallbacks::header(http2::Session*, const http2::FrameHeader* frame,
                          const std::uint8_t* name, std::size_t name_bytes,
                          const std::uint8_t* value, std::size_t value_bytes, std::uint8_t,
                          void* user) {
  return http2::guarded([&] {
    if (auto* const call = of(user).find(frame->stream))
      of(user).take_header(*call, http2::text(name, name_bytes), http2::text(value, value_bytes));
  });
}

int LineCallbacks::frame(http2::Session*, const http2::FrameHeader* frame, void* user) {
  return http2::guarded([&] {
    ReplicaLine& line = of(user);
    if (frame->type == http2::frame::settings) line.is_up_ = true;
    if (frame->type == http2::frame::goaway) line.is_leaving_ = true;
    if (!http2::ends_stream(*frame)) return;
    if (auto* const call = line.find(frame->stream)) line.end_of_answer(*call);
  });
}

int LineCallbacks::data(http2::Session*, std::uint8_t, std::int32_t stream,
                        const std::uint8_t* data, std::size_t bytes, void* user) {
  return http2::guarded([&] {
    if (auto* const call = of(user).find(stream))
      of(user).take_data(*call, {reinterpret_cast<const std::byte*>(data), bytes});
  });
}

int LineCallbacks::closed(http2::Session*, std::int32_t stream, std::uint32_t error, void* user) {
  return http2::guarded([&] { of(user).close(stream, error); });
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
  return http2::guarded(
      [&] { of(user).send_out(*static_cast<ReplicaLine::LineCall*>(*source), header, bytes); });
}

http2::Callbacks* LineCallbacks::made(const http2::Api& api) {
  http2::Callbacks* callbacks = nullptr;
  http2::check(api, api.callbacks_new(&callbacks), "callbacks");
  api.set_on_header(callbacks, header);
  api.set_on_frame_recv(callbacks, frame);
  api.set_on_data_chunk_recv(callbacks, data);
  api.set_on_stream_close(callbacks, closed);
  api.set_send_data(callbacks, send_data);
  api.set_data_read_length(callbacks, http2::frame_length);
  return callbacks;
}

}  // namespace engine::replicas
