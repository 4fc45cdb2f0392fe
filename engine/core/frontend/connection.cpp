#include "frontend/connection.hpp"

#include <utility>

#include "scheduler/clock.hpp"

namespace engine::frontend {

Connection::Connection(std::unique_ptr<Transport> transport, std::uint64_t number) noexcept
    : transport_(std::move(transport)),
      number_(number),
      opened_ns_(coarse_now_ns()),
      quiet_since_ns_(opened_ns_) {}

void Connection::on_ready() noexcept { quiet_since_ns_ = coarse_now_ns(); }

}  // namespace engine::frontend
