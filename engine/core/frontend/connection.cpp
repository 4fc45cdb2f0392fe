#include "frontend/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "scheduler/clock.hpp"

namespace engine::frontend {

Connection::Connection(int socket, std::uint64_t number) noexcept
    : socket_(socket), number_(number), quiet_since_ns_(coarse_now_ns()) {}

Connection::~Connection() {
  if (socket_ >= 0) close(socket_);
}

int Connection::release_socket() noexcept { return std::exchange(socket_, -1); }

bool Connection::hear(Bytes data) {
  has_spoken_ = true;
  return take(data);
}

bool Connection::read(std::span<std::byte> buffer) {
  quiet_since_ns_ = coarse_now_ns();
  while (wants_more()) {
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count == 0) return false;
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    if (!hear(buffer.first(static_cast<std::size_t>(count)))) return false;
    // Others are waiting, too; what is left wakes us again.
    if (static_cast<std::size_t>(count) < buffer.size()) break;
  }
  return true;
}

void Connection::stop_sending() noexcept { shutdown(socket_, SHUT_WR); }

}  // namespace engine::frontend
