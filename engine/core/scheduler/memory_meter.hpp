// Counts the values that a memory holds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "scheduler/thread_counts.hpp"

namespace engine {

/// Thread-safe. Without a limit threads share nothing; a limit is exact, and costs an atomic
/// operation on one line for all. Relaxed throughout: the counts order no other data, and a reader
/// that wants exact totals has waited for the runs first.
class MemoryMeter {
 public:
  /// `limit_bytes` 0: unlimited.
  explicit MemoryMeter(std::size_t limit_bytes = 0) : limit_bytes_(limit_bytes) {}

  /// Counts a value of `size_bytes`; false, and nothing counted, if over the limit.
  [[nodiscard]] bool try_add(std::size_t size_bytes) noexcept {
    if (limit_bytes_ == 0)
      counts_.add(bytes_kind, static_cast<std::int64_t>(size_bytes));
    else if (!try_reserve(size_bytes))
      return false;
    counts_.add(values_kind, 1);
    return true;
  }
  void remove(std::size_t size_bytes) noexcept {
    if (limit_bytes_ == 0)
      counts_.add(bytes_kind, -static_cast<std::int64_t>(size_bytes));
    else
      limited_bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);  // relaxed: as said above
    counts_.add(values_kind, -1);
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    if (limit_bytes_ != 0) return limited_bytes_.load(std::memory_order_relaxed);  // as said above
    return static_cast<std::size_t>(at_least_none(counts_.sum(bytes_kind)));
  }
  [[nodiscard]] std::int64_t values() const noexcept {
    return at_least_none(counts_.sum(values_kind));
  }
  [[nodiscard]] std::size_t limit_bytes() const noexcept { return limit_bytes_; }

 private:
  enum Kind : std::size_t { bytes_kind, values_kind, kinds };

  [[nodiscard]] bool try_reserve(std::size_t size_bytes) noexcept {
    // relaxed, both: as said above
    std::size_t held = limited_bytes_.load(std::memory_order_relaxed);
    while (size_bytes <= limit_bytes_ - held)
      if (limited_bytes_.compare_exchange_weak(held, held + size_bytes, std::memory_order_relaxed))
        return true;
    return false;
  }
  /// Of a sum that was read while others count: the end of a value may be seen before its start.
  [[nodiscard]] static std::int64_t at_least_none(std::int64_t sum) noexcept {
    return std::max<std::int64_t>(sum, 0);
  }

  const std::size_t limit_bytes_;
  ThreadCounts<kinds> counts_;
  alignas(64) std::atomic<std::size_t> limited_bytes_{0};
};

}  // namespace engine
