// When queries that are in flight run out of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "prepared.hpp"

namespace loadgen {

class Connection;

/// A query whose answer is waited for until then.
struct Waited {
  std::int64_t until_ns;
  std::uint32_t row;
  Connection* connection;
};

/// A queue for each timeout that requests have: within one, who was sent first runs out first, so
/// that a query costs the same however many are in flight. Not thread-safe.
class Deadlines {
 public:
  explicit Deadlines(const std::vector<Request>& requests);

  /// A query of that request was sent over that connection.
  void add(std::uint32_t request, std::uint32_t row, Connection* connection, std::int64_t sent_ns);
  /// When the next one may run out; never_ns: none does.
  [[nodiscard]] std::int64_t next_ns() const noexcept;

  /// Calls `expire(waited)` for all that ran out, and forgets those that `is_finished(row)`.
  template <typename IsFinished, typename Expire>
  void sweep(std::int64_t time_ns, IsFinished is_finished, Expire expire) {
    for (auto& queue : queues_) {
      while (!queue.empty()) {
        const Waited waited = queue.front();
        const bool is_over = is_finished(waited.row);
        if (!is_over && waited.until_ns > time_ns) break;
        queue.pop_front();
        if (!is_over) expire(waited);
      }
    }
  }

 private:
  std::vector<std::int64_t> timeout_ns_;  // by queue
  std::vector<std::size_t> queue_of_;     // by request
  std::vector<std::deque<Waited>> queues_;
};

}  // namespace loadgen
