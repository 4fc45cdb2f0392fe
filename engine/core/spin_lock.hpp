// A lock for a few dozen instructions.
#pragma once

#include <sched.h>

#include <atomic>

#include "clock.hpp"

namespace engine {

/// Waiting threads spin, and let others run where the holder seems to have lost its core. About 10
/// ns without contention; held for tens of nanoseconds, never across a call that may block.
class SpinLock {
 public:
  void lock() noexcept {
    // acquire: what the last holder wrote
    while (locked_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() noexcept {
    locked_.store(false,
                  std::memory_order_release);  // release: to the next holder
  }

 private:
  void wait() const noexcept {
    for (int i = 0; i < spins_before_yield; ++i) {
      if (!locked_.load(std::memory_order_relaxed)) return;  // relaxed: the exchange decides
      cpu_relax();
    }
    sched_yield();
  }

  static constexpr int spins_before_yield = 200;
  std::atomic<bool> locked_{false};
};

}  // namespace engine
