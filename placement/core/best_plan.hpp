// The best plan that several threads have found.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "query.hpp"

namespace placement {

/// A placement that owns its numbers: devices and ranks by task.
struct RankedPlacement {
  std::vector<std::int64_t> device_of, priority;
  Ns makespan_ns = 0;

  [[nodiscard]] Placed placed() const noexcept { return {device_of, priority, false}; }
};

/// Thread-safe. Plans are offered much more often than asked for, and as the search has them.
class BestPlan {
 public:
  explicit BestPlan(const RankedPlacement& plan)
      : device_of_(plan.device_of.begin(), plan.device_of.end()),
        rank_of_(plan.priority.begin(), plan.priority.end()),
        makespan_ns_(plan.makespan_ns) {}

  // Relaxed: who wants the plan itself takes the lock.
  [[nodiscard]] Ns makespan_ns() const noexcept {
    return makespan_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] RankedPlacement plan() const {
    const std::scoped_lock lock(mutex_);
    return {
        {device_of_.begin(), device_of_.end()}, {rank_of_.begin(), rank_of_.end()}, makespan_ns()};
  }
  /// Taken if it is shorter than all before.
  void offer(Ns makespan_ns, std::span<const Index> device_of, std::span<const Index> rank_of) {
    const std::scoped_lock lock(mutex_);
    if (makespan_ns >= this->makespan_ns()) return;
    std::ranges::copy(device_of, device_of_.begin());
    std::ranges::copy(rank_of, rank_of_.begin());
    makespan_ns_.store(makespan_ns, std::memory_order_relaxed);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Index> device_of_, rank_of_;
  std::atomic<Ns> makespan_ns_;
};

}  // namespace placement
