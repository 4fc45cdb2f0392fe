#include "frontend/transport.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace engine::frontend {

Transport::~Transport() { close(socket_); }

std::optional<std::size_t> Transport::take(std::span<std::byte> buffer) const noexcept {
  for (;;) {
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0) return std::nullopt;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? std::optional<std::size_t>(0) : std::nullopt;
  }
}

}  // namespace engine::frontend
