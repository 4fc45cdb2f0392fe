#include "scheduler/parker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace engine {

void EventCount::wait(Key key, std::int64_t deadline_ns) noexcept {
  timespec until{};
  until.tv_sec = deadline_ns / 1'000'000'000;
  until.tv_nsec = deadline_ns % 1'000'000'000;
  // FUTEX_WAIT_BITSET takes an absolute monotonic time, FUTEX_WAIT a relative one.
  const long result = syscall(SYS_futex, &epoch_, FUTEX_WAIT_BITSET_PRIVATE, key,
                              deadline_ns == 0 ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
  // seq_cst: before we test the condition again
  if (result == 0) arriving_.fetch_sub(1, std::memory_order_seq_cst);
  waiters_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a late view only wakes in vain
  // acquire: pairs with wake(), the condition that it announces is visible
  static_cast<void>(epoch_.load(std::memory_order_acquire));
}

int EventCount::wake(int count) noexcept {
  epoch_.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: after the condition, before the wake
  const long woken = syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, count);
  if (woken <= 0) return 0;
  // seq_cst: in the same order as the decrements of the woken threads
  arriving_.fetch_add(static_cast<int>(woken), std::memory_order_seq_cst);
  return static_cast<int>(woken);
}

}  // namespace engine
