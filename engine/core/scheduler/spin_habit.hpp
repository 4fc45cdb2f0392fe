// Whether it pays to spin before one parks, learnt from how long threads waited lately.
#pragma once

#include <atomic>
#include <cstdint>

namespace engine {

/// Of waits of one sort. Who spins as long as parking would cost loses little where the wait is
/// short, and all of it where it is long. Queries that come every 100 ms would cost the spinning
/// of every thread that has worked; so after a few waits in a row that outlasted the spinning
/// threads park at once, until one of their waits would have ended while they span. Thread-safe;
/// what threads overwrite is one wait fewer.
class SpinHabit {
 public:
  /// How many waits in a row.
  static constexpr int patience = 4;

  [[nodiscard]] bool pays() const noexcept {
    return vain_.load(std::memory_order_relaxed) < patience;  // relaxed, all: advice
  }
  /// A wait has ended that began at `since_ns`, after which a thread spins for `spin_ns`.
  void note(std::int64_t waited_ns, std::int64_t spin_ns) noexcept {
    const int vain = vain_.load(std::memory_order_relaxed);
    if (waited_ns > spin_ns && vain < patience) vain_.store(vain + 1, std::memory_order_relaxed);
    if (waited_ns <= spin_ns && vain != 0) vain_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> vain_{0};
};

}  // namespace engine
