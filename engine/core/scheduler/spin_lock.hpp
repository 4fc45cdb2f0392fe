// A lock for a few dozen instructions.
#pragma once

#include <sched.h>

#include <atomic>
#include <ctime>

#include "scheduler/clock.hpp"

namespace engine {

/// Waiting threads spin, let others run where the holder seems to have lost its core, and soon
/// sleep between looks, so that a holder of a lower priority gets it back. They are not woken,
/// which would cost every unlock() a locked operation. About 10 ns without contention; held for
/// tens of nanoseconds, never across a call that may block.
class SpinLock {
 public:
  void lock() noexcept {
    // acquire: what the last holder wrote
    for (int waits = 0; locked_.exchange(true, std::memory_order_acquire); ++waits) wait(waits);
  }
  void unlock() noexcept {
    locked_.store(false,
                  std::memory_order_release);  // release: to the next holder
  }

 private:
  void wait(int waits) const noexcept {
    for (int i = 0; i < spins_before_yield; ++i) {
      if (!locked_.load(std::memory_order_relaxed)) return;  // relaxed: the exchange decides
      cpu_relax();
    }
    if (waits < yields_before_nap) {
      sched_yield();
      return;
    }
    const timespec nap{.tv_sec = 0, .tv_nsec = nap_ns};
    nanosleep(&nap, nullptr);
  }

  static constexpr int spins_before_yield = 200;
  static constexpr int yields_before_nap = 10;
  static constexpr long nap_ns = 50'000;
  std::atomic<bool> locked_{false};
};

}  // namespace engine
