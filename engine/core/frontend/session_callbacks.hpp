// What libnghttp2 calls for a connection.
#pragma once

#include "frontend/http2_connection.hpp"

namespace engine::frontend {

/// `user` is the connection.
struct SessionCallbacks {
  /// Gives the library the bytes of a call's answer.
  static ssize_t read(http2::Session*, std::int32_t, std::uint8_t*, std::size_t most,
                      std::uint32_t* flags, void** source, void* user);
  /// For all sessions.
  static http2::Callbacks* made(const http2::Api& api);
  /// The same; bounds what a client makes the library keep.
  static http2::Option* options(const http2::Api& api);

 private:
  static Http2Connection& of(void* user) { return *static_cast<Http2Connection*>(user); }
  static int begin_headers(http2::Session*, const http2::FrameHeader* frame, void* user);
  static int header(http2::Session*, const http2::FrameHeader* frame, const std::uint8_t* name,
                    std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                    std::uint8_t flags, void* user);
  static int frame(http2::Session*, const http2::FrameHeader* frame, void* user);
  static int data(http2::Session* session, std::uint8_t flags, std::int32_t stream,
                  const std::uint8_t* data, std::size_t bytes, void* user);
  static int closed(http2::Session*, std::int32_t stream, std::uint32_t error, void* user);
  static int send_data(http2::Session*, http2::FrameHeader*, const std::uint8_t* header,
                       std::size_t bytes, void** source, void* user);
};

}  // namespace engine::frontend
