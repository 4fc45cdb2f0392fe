// How long the nodes of a plan take, as measured while it serves.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "scheduler/spin_lock.hpp"

namespace engine {

/// Time that something takes of lanes, a mean and how far single ones are from it on the mean.
struct TimeSpent {
  std::int64_t mean_ns = 0;
  std::int64_t spread_ns = 0;
};

/// Mean and mean deviation of each node's time, weighted averages of the last few (Jacobson,
/// "Congestion avoidance and control", SIGCOMM 1988), and their sums by device. One that is further
/// off than `most_off` spreads counts as that far: a core that was taken away for once does not
/// double the spread, and what takes longer from now on is believed within some runs (Huber,
/// "Robust estimation of a location parameter", 1964). They begin with what was planned: first runs
/// are slow. Thread-safe: a lock of tens of nanoseconds a measured node.
class ServiceTimes {
 public:
  /// A shorter node is not measured: it would take a hundredth longer.
  static constexpr std::int64_t worth_measuring_ns = 20'000;

  /// `planned_ns` of a node is 0 where nothing is known. Before others know it.
  void plan_node(std::uint32_t executor, int width, std::int64_t planned_ns) {
    const std::int64_t planned_work_ns = planned_ns * width;
    const TimeSpent planned{planned_work_ns, planned_work_ns / planned_spread};
    nodes_.push_back({planned, executor, width, planned_ns > 0 ? planned_weight : 0});
    if (by_executor_.size() <= executor) by_executor_.resize(executor + 1);
    by_executor_[executor].mean_ns += planned.mean_ns;
    by_executor_[executor].spread_ns += planned.spread_ns;
    planned_ns_ += planned_work_ns;
    work_ns_.store(planned_ns_, std::memory_order_relaxed);  // relaxed: nobody knows it yet
  }
  /// A node took that long, of as many lanes as it is wide.
  void note(std::uint32_t node, std::int64_t took_ns) noexcept {
    lock_.lock();
    Node& found = nodes_[node];
    const std::int64_t work_ns = took_ns * found.width;
    // It was planned on a disturbed machine.
    if (found.is_planned && work_ns < found.time.mean_ns) found.weight = 0;
    found.is_planned = false;
    TimeSpent next{work_ns, found.weight > 0 ? found.time.spread_ns : work_ns / planned_spread};
    found.weight = std::min(found.weight + 1, most_weight);
    if (found.weight > 1) {
      const std::int64_t most_ns =
          most_off * std::max(found.time.spread_ns, found.time.mean_ns / least_spread);
      const std::int64_t off_ns = std::clamp(work_ns - found.time.mean_ns, -most_ns, most_ns);
      next.mean_ns = found.time.mean_ns + off_ns / found.weight;
      next.spread_ns += ((off_ns < 0 ? -off_ns : off_ns) - next.spread_ns) / found.weight;
    }
    TimeSpent& sum = by_executor_[found.executor];
    sum.mean_ns += next.mean_ns - found.time.mean_ns;
    sum.spread_ns += next.spread_ns - found.time.spread_ns;
    // relaxed, both: written under the lock, a hint to who reads it
    work_ns_.store(work_ns_.load(std::memory_order_relaxed) + next.mean_ns - found.time.mean_ns,
                   std::memory_order_relaxed);
    found.time = next;
    refused_ = 0;
    lock_.unlock();
  }
  /// A run is refused for its own time, which may have been measured beside others that are gone.
  /// True for every few in a row: that one is to be answered, and its times count instead of what
  /// was known.
  [[nodiscard]] bool doubts() noexcept {
    const std::lock_guard lock(lock_);
    if (++refused_ < refused_before_doubt) return false;
    refused_ = 0;
    for (Node& node : nodes_) node.weight = 0;
    return true;
  }
  /// Whether the next such run would be answered; counts this one as refused if not.
  [[nodiscard]] bool will_doubt() noexcept {
    const std::lock_guard lock(lock_);
    if (refused_ + 1 >= refused_before_doubt) return true;
    ++refused_;
    return false;
  }
  /// What a run takes of the lanes of a device.
  [[nodiscard]] TimeSpent of_executor(std::uint32_t executor) const noexcept {
    if (executor >= by_executor_.size()) return {};
    lock_.lock();
    const TimeSpent found = by_executor_[executor];
    lock_.unlock();
    return found;
  }
  [[nodiscard]] std::int64_t of_node(std::uint32_t node) const noexcept {
    lock_.lock();
    const std::int64_t found = nodes_[node].time.mean_ns;
    lock_.unlock();
    return found;
  }
  /// What a run takes of all lanes; 0 if nothing is known.
  [[nodiscard]] std::int64_t work_ns() const noexcept {
    return work_ns_.load(std::memory_order_relaxed);  // relaxed: a hint
  }
  /// What a run takes of all lanes at least, nearly always, as a part of what is expected.
  [[nodiscard]] double least_part() const noexcept {
    TimeSpent all;
    lock_.lock();
    for (const TimeSpent& time : by_executor_)
      all = {all.mean_ns + time.mean_ns, all.spread_ns + time.spread_ns};
    lock_.unlock();
    if (all.mean_ns == 0) return 0;
    const double spread = static_cast<double>(all.spread_ns) / static_cast<double>(all.mean_ns);
    return std::max(0.0, 1 - 2.5 * spread);
  }
  /// Something that was planned to take `planned_ns`, as runs are measured to go.
  [[nodiscard]] std::int64_t as_measured(std::int64_t planned_ns) const noexcept {
    if (planned_ns_ == 0) return planned_ns;
    return static_cast<std::int64_t>(static_cast<double>(planned_ns) *
                                     static_cast<double>(work_ns()) /
                                     static_cast<double>(planned_ns_));
  }

 private:
  static constexpr int refused_before_doubt = 16;
  /// How many measured times one that was planned counts as, and all of the past at most.
  static constexpr int planned_weight = 2, most_weight = 8;
  /// A time that was planned is expected to be off by that part of it.
  static constexpr std::int64_t planned_spread = 5;
  static constexpr std::int64_t most_off = 4;
  static constexpr std::int64_t least_spread = 50;  ///< as the last, of what is measured

  struct Node {
    TimeSpent time = {};
    std::uint32_t executor = 0;
    int width = 1;
    int weight = 0;  ///< of measured times; 0: the next one counts as it is
    bool is_planned = true;
  };

  mutable SpinLock lock_;
  std::vector<Node> nodes_;             ///< guarded by lock_, as the next
  std::vector<TimeSpent> by_executor_;  ///< its size stays
  std::int64_t planned_ns_ = 0;
  int refused_ = 0;  ///< in a row, for their own time; guarded by lock_
  std::atomic<std::int64_t> work_ns_{0};
};

}  // namespace engine
