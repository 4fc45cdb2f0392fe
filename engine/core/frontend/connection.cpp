#include "frontend/connection.hpp"

#include <unistd.h>

#include "scheduler/clock.hpp"

namespace engine::frontend {

Connection::Connection(int socket, std::uint64_t number) noexcept
    : socket_(socket), number_(number), quiet_since_ns_(coarse_now_ns()) {}

Connection::~Connection() { close(socket_); }

void Connection::on_ready() noexcept { quiet_since_ns_ = coarse_now_ns(); }

}  // namespace engine::frontend
