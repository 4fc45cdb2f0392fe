// Lanes whose operators compute on long after their queries have ended.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "scheduler/plan.hpp"

namespace engine {

/// Of one machine. Thread-safe; nobody comes here but for an operator that does not return.
class HeldLanes {
 public:
  /// A node of a run in flight, which keeps its plan. Without memory for it, it stays unknown.
  void add(const Plan& plan, std::uint32_t node) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      nodes_.push_back({&plan, node});
    } catch (const std::bad_alloc&) {
    }
    count_.store(nodes_.size(), std::memory_order_relaxed);  // relaxed: see is_empty()
  }
  /// That node has returned after all.
  void remove(const Plan& plan, std::uint32_t node) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(nodes_, Held{&plan, node});
    if (found != nodes_.end()) nodes_.erase(found);
    count_.store(nodes_.size(), std::memory_order_relaxed);  // relaxed: see is_empty()
  }
  [[nodiscard]] bool is_empty() const noexcept {
    return count_.load(std::memory_order_relaxed) == 0;  // relaxed: seen a moment later
  }
  /// How many lanes of an executor are held.
  [[nodiscard]] int lanes(std::uint32_t executor) const {
    const std::lock_guard lock(mutex_);
    int lanes = 0;
    for (const Held& held : nodes_) {
      const PlanNode& node = held.plan->node(held.node);
      if (node.executor == executor) lanes += node.width;
    }
    return lanes;
  }
  /// Nodes of a plan that hold lanes, by name.
  [[nodiscard]] std::vector<std::string> nodes(const Plan& plan) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const Held& held : nodes_)
      if (held.plan == &plan) names.push_back(plan.node_name(held.node));
    return names;
  }

 private:
  struct Held {
    const Plan* plan;
    std::uint32_t node;
    bool operator==(const Held&) const = default;
  };

  mutable std::mutex mutex_;
  std::vector<Held> nodes_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace engine
