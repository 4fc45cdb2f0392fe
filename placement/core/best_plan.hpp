// The best plan that several threads have found.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "query.hpp"

namespace placement {

/// A placement that owns its numbers: devices and ranks by task.
struct Plan {
  std::vector<std::int64_t> device_of, priority;
  Ns makespan_ns = 0;

  [[nodiscard]] Placed placed() const noexcept { return {device_of, priority, false}; }
};

/// Thread-safe.
class BestPlan {
 public:
  explicit BestPlan(Plan plan) : plan_(std::move(plan)), makespan_ns_(plan_.makespan_ns) {}

  // Relaxed: who wants the plan itself takes the lock.
  [[nodiscard]] Ns makespan_ns() const noexcept {
    return makespan_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] Plan plan() const {
    const std::scoped_lock lock(mutex_);
    return plan_;
  }
  /// Taken if it is shorter than all before.
  void offer(const Plan& plan) {
    const std::scoped_lock lock(mutex_);
    if (plan.makespan_ns >= plan_.makespan_ns) return;
    plan_ = plan;
    makespan_ns_.store(plan.makespan_ns, std::memory_order_relaxed);
  }

 private:
  mutable std::mutex mutex_;
  Plan plan_;
  std::atomic<Ns> makespan_ns_;
};

}  // namespace placement
