// An eventcount on a futex: threads wait for a condition that others make true.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

namespace engine {

/// How a wake-up cannot be missed. The waiter announces itself (prepare: ++waiters, read the
/// epoch), then tests its condition, then sleeps only while the epoch is unchanged. The notifier
/// makes the condition true, then looks for waiters; if there are any it moves the epoch and
/// wakes. Condition writes and reads, and all accesses to waiters_, are seq_cst: in their single
/// total order either the notifier sees the waiter, or the waiter sees the condition. A wake-up
/// between test and sleep moved the epoch, so the futex does not sleep.
///
/// Thread-safe. notify() costs one load when nobody waits.
class EventCount {
 public:
  using Key = std::uint32_t;

  [[nodiscard]] Key prepare() noexcept {
    waiters_.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: announced before the test
    return epoch_.load(std::memory_order_seq_cst);     // seq_cst: not after the test
  }
  void cancel() noexcept {
    waiters_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a late view only wakes in vain
  }
  /// Sleeps until notified or until `deadline_ns` on the monotonic clock (0: no limit). May
  /// return early; callers test their condition again.
  void wait(Key key, std::int64_t deadline_ns = 0) noexcept;

  /// Wakes up to `count` sleepers; returns how many were asleep.
  int notify(int count) noexcept {
    if (waiters_.load(std::memory_order_seq_cst) == 0) return 0;  // seq_cst: see above
    return wake(count);
  }
  int notify_all() noexcept { return notify(INT_MAX); }
  /// Whether threads wait, or are about to. A hint.
  [[nodiscard]] bool has_waiters() const noexcept {
    return waiters_.load(std::memory_order_relaxed) != 0;  // relaxed: a hint
  }
  /// Threads woken that have not run yet; each will test its condition again. Notifiers may
  /// count on them as on spinners, and so save a system call per notify while they are on their
  /// way. Briefly one off in both directions.
  [[nodiscard]] int arriving() const noexcept {
    return arriving_.load(std::memory_order_seq_cst);  // seq_cst: read after the condition is set
  }

 private:
  int wake(int count) noexcept;

  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint32_t> waiters_{0};
  std::atomic<int> arriving_{0};
};

}  // namespace engine
