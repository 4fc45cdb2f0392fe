#include "frontend/connection.hpp"

#include <sys/socket.h>

#include <utility>

#include "scheduler/clock.hpp"

namespace engine::frontend {

Connection::Connection(std::unique_ptr<Transport> transport, std::uint64_t number) noexcept
    : transport_(std::move(transport)),
      number_(number),
      opened_ns_(coarse_now_ns()),
      quiet_since_ns_(opened_ns_) {}

bool Connection::hear(Bytes data) {
  has_spoken_ = true;
  return take(data);
}

bool Connection::read(std::span<std::byte> buffer) {
  quiet_since_ns_ = coarse_now_ns();
  while (wants_more()) {
    const std::optional<std::size_t> count = transport_->receive(buffer);
    if (!count) return false;
    if (*count == 0) break;
    if (!hear(buffer.first(*count))) return false;
    // Others are waiting, too; what is left wakes us again.
    if (*count < buffer.size()) break;
  }
  return true;
}

void Connection::stop_sending() noexcept { shutdown(socket(), SHUT_WR); }

}  // namespace engine::frontend
