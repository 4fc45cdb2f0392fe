#include "frontend/session_callbacks.hpp"

#include "http2/callbacks.hpp"

namespace engine::frontend {

namespace {

/// Of a connection, before it is over: what attackers send in floods.
constexpr std::size_t most_acknowledgements = 1000, most_settings = 32, most_continuations = 8;
constexpr std::uint64_t reset_burst = 10'000, resets_a_second = 2'000;

}  // namespace

int SessionCallbacks::begin_headers(http2::Session*, const http2::FrameHeader* frame, void* user) {
  return http2::guarded([&] {
    if (frame->type == http2::frame::headers && of(user).find(frame->stream) == nullptr)
      of(user).begin_call(frame->stream);
  });
}
int SessionCallbacks::header(http2::Session*, const http2::FrameHeader* frame,
                             const std::uint8_t* name, std::size_t name_bytes,
                             const std::uint8_t* value, std::size_t value_bytes, std::uint8_t,
                             void* user) {
  return http2::guarded([&] {
    if (Call* const call = of(user).find(frame->stream))
      of(user).take_header(*call, http2::text(name, name_bytes), http2::text(value, value_bytes));
  });
}
int SessionCallbacks::frame(http2::Session*, const http2::FrameHeader* frame, void* user) {
  return http2::guarded([&] {
    Http2Connection& connection = of(user);
    Call* const call = connection.find(frame->stream);
    if (call == nullptr) return;
    if (frame->type == http2::frame::headers && call->received_ns == 0)
      connection.headers_end(*call);
    if (http2::ends_stream(*frame)) connection.half_close(*call);
  });
}
int SessionCallbacks::data(http2::Session* session, std::uint8_t, std::int32_t stream,
                           const std::uint8_t* data, std::size_t bytes, void* user) {
  return http2::guarded([&] {
    Http2Connection& connection = of(user);
    static_cast<void>(connection.api_.consume_connection(session, bytes));
    Call* const call = connection.find(stream);
    if (call == nullptr) return;
    call->unconsumed_bytes += bytes;
    connection.take_data(*call, {reinterpret_cast<const std::byte*>(data), bytes});
  });
}
int SessionCallbacks::closed(http2::Session*, std::int32_t stream, std::uint32_t, void* user) {
  return http2::guarded([&] { of(user).close_call(stream); });
}
ssize_t SessionCallbacks::read(http2::Session*, std::int32_t, std::uint8_t*, std::size_t most,
                               std::uint32_t* flags, void** source, void* user) {
  return of(user).provide(*static_cast<Call*>(*source), most, *flags);
}
int SessionCallbacks::send_data(http2::Session*, http2::FrameHeader*, const std::uint8_t* header,
                                std::size_t bytes, void** source, void* user) {
  return http2::guarded([&] {
    constexpr std::size_t header_bytes = 9;
    of(user).out_.append({reinterpret_cast<const std::byte*>(header), header_bytes});
    of(user).send_out(*static_cast<Call*>(*source), bytes);
  });
}

http2::Callbacks* SessionCallbacks::made(const http2::Api& api) {
  http2::Callbacks* callbacks = nullptr;
  http2::check(api, api.callbacks_new(&callbacks), "callbacks");
  api.set_on_begin_headers(callbacks, begin_headers);
  api.set_on_header(callbacks, header);
  api.set_on_frame_recv(callbacks, frame);
  api.set_on_data_chunk_recv(callbacks, data);
  api.set_on_stream_close(callbacks, closed);
  api.set_send_data(callbacks, send_data);
  api.set_data_read_length(callbacks, http2::frame_length);
  return callbacks;
}
http2::Option* SessionCallbacks::options(const http2::Api& api) {
  http2::Option* option = nullptr;
  http2::check(api, api.option_new(&option), "options");
  api.option_no_auto_window_update(option, 1);
  api.option_max_outbound_ack(option, most_acknowledgements);
  api.option_max_settings(option, most_settings);
  // Else each call of a connection takes 260 bytes until that ends, for priorities that nobody has.
  if (api.option_no_closed_streams != nullptr) api.option_no_closed_streams(option, 1);
  if (api.option_stream_reset_rate_limit != nullptr)
    api.option_stream_reset_rate_limit(option, reset_burst, resets_a_second);
  if (api.option_max_continuations != nullptr)
    api.option_max_continuations(option, most_continuations);
  return option;
}

}  // namespace engine::frontend
