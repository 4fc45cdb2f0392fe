// The ready nodes of one CPU device, in the order in which its lanes take them.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "ready_set.hpp"
#include "run_order.hpp"
#include "spin_lock.hpp"
#include "task.hpp"

namespace engine {

/// The order is exact: the most urgent run first (run_order.hpp), and within a run the node that
/// was planned to start first (its rank, then its number). A heap holds the runs with ready nodes,
/// each run a bit set of them. The first up to 64 nodes of all are kept apart, beside the lock, so
/// that a pop moves a single cache line between the cores.
///
/// Thread-safe. Every call locks once, for 5-40 ns and O(log runs + nodes moved); the heap's growth
/// is the only allocation.
class ReadyQueue {
 public:
  /// Of the machine's executor with that index: runs keep a ReadySet per executor.
  explicit ReadyQueue(std::uint32_t executor);

  /// Adds nodes of one run, by their positions in the plan's order.
  void push(Run& run, std::span<const std::uint32_t> positions);
  /// Takes the first node. False if there is none.
  [[nodiscard]] bool pop(Task& task);
  /// push and pop at once: takes what is first then, maybe one of `positions`; some are given.
  [[nodiscard]] Task exchange(Run& run, std::span<const std::uint32_t> positions);

  /// Whether there are nodes. seq_cst, so that a thread about to park and one that pushes cannot
  /// miss each other (parker.hpp).
  [[nodiscard]] bool maybe_ready() const noexcept {
    return nonempty_.load(std::memory_order_seq_cst);  // seq_cst: see above
  }
  [[nodiscard]] std::size_t size_approx() const noexcept {
    return size_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }

 private:
  struct Entry {
    RunOrder order;
    Run* run = nullptr;
    /// For the standard heap, whose first element is the greatest.
    bool operator<(const Entry& other) const noexcept { return other.order < order; }
  };

  void insert(Run& run, std::span<const std::uint32_t> positions);
  [[nodiscard]] Task take_first() noexcept;
  [[nodiscard]] bool is_overtaken() const noexcept;
  void put_back_front();
  void refill_front() noexcept;
  void enter(const Entry& entry);
  void add_size(std::uint32_t nodes) noexcept {
    // relaxed, both: written under the lock
    size_.store(size_.load(std::memory_order_relaxed) + nodes, std::memory_order_relaxed);
  }

  const std::uint32_t executor_;
  std::vector<Entry> runs_;  ///< heap of the runs whose ReadySet is not empty
  alignas(64) SpinLock lock_;
  std::atomic<std::uint32_t> size_{0};
  ReadySet::Word first_;  ///< nodes of front_ before all others; empty only if all is
  Entry front_;
  alignas(64) std::atomic<bool> nonempty_{false};  ///< on a line of its own: spinners read it
};

}  // namespace engine
