// When a search ends.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "times.hpp"

namespace placement {

/// By evaluations of each thread, by time on a steady clock since it was made, or because somebody
/// says so. 0 is no limit. Thread-safe.
class Limits {
 public:
  Limits(std::int64_t evaluations, Ns time_ns) noexcept
      : evaluations_(evaluations), time_ns_(time_ns) {}

  /// From 0 to 1, where it is over. Where evaluations alone limit it, no clock decides anything.
  [[nodiscard]] double progress(std::int64_t evaluations) const noexcept {
    // Relaxed: nothing else is told by it.
    if (is_cancelled_.load(std::memory_order_relaxed)) return 1;
    double share = 0;
    if (evaluations_ > 0)
      share = static_cast<double>(evaluations) / static_cast<double>(evaluations_);
    if (time_ns_ > 0) {
      const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - began_;
      share = std::max(share, static_cast<double>(passed.count()) / static_cast<double>(time_ns_));
    }
    return std::min(share, 1.0);
  }

  void cancel() noexcept { is_cancelled_.store(true, std::memory_order_relaxed); }

 private:
  const std::int64_t evaluations_;
  const Ns time_ns_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace placement
