// Who is asked.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace loadgen {

/// Of a TCP socket, as the system takes it.
struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

/// The first of a host's addresses that takes a connection. Blocks for up to `timeout_ms`.
/// Throws std::runtime_error with the last reason if none does.
[[nodiscard]] Address find_server(const std::string& host, std::uint16_t port, int timeout_ms);

/// A socket that is connecting, without blocking. Throws std::system_error if it cannot be made.
[[nodiscard]] int connecting_socket(const Address& address);

/// What became of that: 0 when it is connected, else the reason's errno.
[[nodiscard]] int connect_error(int socket) noexcept;

}  // namespace loadgen
