// Counters that threads raise and lower without sharing a cache line.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "scheduler/thread_slot.hpp"

namespace engine {

/// `kinds` counters. Each thread has a row of its own, which it writes without a locked operation;
/// threads above thread_slots share one. A row may be below zero, where others lower what its
/// thread raised. 16 KiB; thread-safe.
template <std::size_t kinds>
class ThreadCounts {
 public:
  /// `order`: relaxed or seq_cst.
  void add(std::size_t kind, std::int64_t number,
           std::memory_order order = std::memory_order_relaxed) noexcept {
    const std::uint32_t slot = thread_slot();
    std::atomic<std::int64_t>& count = rows_[slot].counts[kind];
    if (slot == thread_slots)
      count.fetch_add(number, order);
    else  // relaxed: our own
      count.store(count.load(std::memory_order_relaxed) + number, order);
  }
  /// Exact for who knows that nobody counts meanwhile; reads all rows, a microsecond.
  [[nodiscard]] std::int64_t sum(std::size_t kind) const noexcept {
    std::int64_t sum = 0;
    // seq_cst: pairs with such an add
    for (const Row& row : rows_) sum += row.counts[kind].load(std::memory_order_seq_cst);
    return sum;
  }
  /// For a forked child, where the counting threads are not.
  void clear() noexcept {
    for (Row& row : rows_)
      // relaxed: there is one thread
      for (auto& count : row.counts) count.store(0, std::memory_order_relaxed);
  }

 private:
  struct alignas(64) Row {
    std::array<std::atomic<std::int64_t>, kinds> counts{};
  };

  std::array<Row, thread_slots + 1> rows_{};
};

}  // namespace engine
