// The ready nodes of one device: 16 priority classes, each a lock-free ring.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "mpmc_ring.hpp"

namespace engine {

class Run;

/// A node of a run whose inputs are there.
struct Task {
  Run* run = nullptr;
  std::uint32_t node = 0;
  std::uint32_t priority_class = 0;  ///< 0 is the most urgent, see Run::class_of
  std::int64_t ready_ns = 0;         ///< stamped for devices with a clock of their own, else 0
};

/// Any thread may push and pop. FIFO within a class. Never blocks on a full ring: it spills to a
/// deque under a mutex, which costs about ten times a ring push and is counted.
class ReadyQueue {
 public:
  static constexpr std::uint32_t class_count = 16;

  explicit ReadyQueue(std::size_t capacity_per_class = 256);

  void push(const Task& task);
  /// Takes the oldest task of the most urgent class below `class_limit`. False if there is none.
  [[nodiscard]] bool pop(Task& task, std::uint32_t class_limit = class_count);

  /// False means empty; true may be stale, and a pop that fails clears it. seq_cst, so that a
  /// thread about to park and one that pushes cannot miss each other.
  [[nodiscard]] bool maybe_ready() const noexcept {
    return hint_.load(std::memory_order_seq_cst) != 0;  // seq_cst: see parker.hpp
  }
  /// Whether a class more urgent than `priority_class` may hold tasks.
  [[nodiscard]] bool has_more_urgent(std::uint32_t priority_class) const noexcept {
    const std::uint32_t above = (1U << priority_class) - 1;
    return (hint_.load(std::memory_order_relaxed) & above) != 0;  // relaxed: only a hint
  }
  /// Free places in the ring of a class at some recent moment.
  [[nodiscard]] std::size_t room(std::uint32_t priority_class) const noexcept;
  [[nodiscard]] std::size_t size_approx() const noexcept;
  [[nodiscard]] std::uint64_t spilled() const noexcept {
    return spilled_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }

 private:
  struct Class {
    explicit Class(std::size_t capacity) : ring(capacity) {}
    MpmcRing<Task> ring;
    std::atomic<std::uint32_t> overflow_size{0};
    std::mutex mutex;
    std::deque<Task> overflow;
  };

  void spill(Class& entry, const Task& task);
  void refill(Class& entry);
  [[nodiscard]] static bool holds_any(const Class& entry) noexcept;

  const std::size_t capacity_;
  std::array<std::unique_ptr<Class>, class_count> classes_;
  alignas(64) std::atomic<std::uint32_t> hint_{0};  ///< bit c: class c may hold tasks
  std::atomic<std::uint64_t> spilled_{0};
};

}  // namespace engine
