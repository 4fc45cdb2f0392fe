// What libnghttp2 calls for a line.
#pragma once

#include "replicas/replica_line.hpp"

namespace engine::replicas {

/// `user` is the line.
struct LineCallbacks {
  /// For all sessions.
  static http2::Callbacks* made(const http2::Api& api);
  /// Gives the library the length of a query.
  static ssize_t read(http2::Session*, std::int32_t, std::uint8_t*, std::size_t most,
                      std::uint32_t* flags, void** source, void* user);

 private:
  static ReplicaLine& of(void* user) { return *static_cast<ReplicaLine*>(user); }
  static int header(http2::Session*, const http2::FrameHeader* frame, const std::uint8_t* name,
                    std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                    std::uint8_t, void* user);
  static int frame(http2::Session*, const http2::FrameHeader* frame, void* user);
  static int data(http2::Session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                  std::size_t bytes, void* user);
  static int closed(http2::Session*, std::int32_t stream, std::uint32_t error, void* user);
  static int send_data(http2::Session*, http2::FrameHeader*, const std::uint8_t* header,
                       std::size_t bytes, void** source, void* user);
};

}  // namespace engine::replicas
