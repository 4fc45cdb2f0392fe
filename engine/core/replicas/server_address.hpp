// Where a server listens.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace engine::replicas {

/// Of a TCP socket, as the system takes it; and as people write it.
struct ServerAddress {
  std::string text;  ///< host:port
  std::string host;  ///< without brackets
  sockaddr_storage bytes{};
  socklen_t size = 0;

  /// Looks the host up, which may block. Throws std::invalid_argument, naming the text, where it is
  /// none, or nothing is known of the host.
  [[nodiscard]] static ServerAddress of(const std::string& text);
  /// A socket that begins to connect: what that fails of is found as it is waited for. What it
  /// sends and nobody acknowledges for so long is lost. Throws std::system_error without
  /// descriptors.
  [[nodiscard]] int connect(std::int64_t unheard_ms) const;
};

/// Whether a socket of connect() has come to be connected, by what epoll says of it, or why not.
enum class Connecting : std::uint8_t { waits, done, failed };
[[nodiscard]] Connecting connecting(int socket, std::uint32_t events, std::string& why);

}  // namespace engine::replicas
