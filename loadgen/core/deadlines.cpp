#include "deadlines.hpp"

#include <algorithm>

#include "clock.hpp"

namespace loadgen {

Deadlines::Deadlines(const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    const auto found = std::find(timeout_ns_.begin(), timeout_ns_.end(), request.timeout_ns);
    queue_of_.push_back(static_cast<std::size_t>(found - timeout_ns_.begin()));
    if (found == timeout_ns_.end()) timeout_ns_.push_back(request.timeout_ns);
  }
  queues_.resize(timeout_ns_.size());
}

void Deadlines::add(std::uint32_t request, std::uint32_t row, Connection* connection,
                    std::int64_t sent_ns) {
  const std::size_t queue = queue_of_[request];
  queues_[queue].push_back({sent_ns + timeout_ns_[queue], row, connection});
}

std::int64_t Deadlines::next_ns() const noexcept {
  std::int64_t next = never_ns;
  for (const auto& queue : queues_)
    if (!queue.empty()) next = std::min(next, queue.front().until_ns);
  return next;
}

}  // namespace loadgen
