// Who goes first among runs that are not due: start-time fair queueing between models.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace engine {

/// Runs of one priority share by weight; priorities that differ by a multiple of 16 share a clock.
inline constexpr std::size_t share_classes = 32;

[[nodiscard]] inline std::size_t share_class(int priority, bool best_effort) noexcept {
  return (static_cast<std::size_t>(priority) & 15U) | (best_effort ? 16U : 0U);
}

/// Virtual time of a machine, for each class: the greatest start of a run that has ended. Goyal,
/// Vin, Cheng, "Start-time fair queuing", SIGCOMM 1996, take the start of what is being served; as
/// there are several lanes, and devices without a common queue, ours lags behind by what is being
/// served (SFQ(D): Jin, Chase, Kaur, "Interposed proportional sharing", SIGMETRICS 2004).
/// Lock-free.
class VirtualTime {
 public:
  [[nodiscard]] std::int64_t now(std::size_t of) const noexcept {
    return starts_[of].load(std::memory_order_relaxed);  // relaxed: a start that is just missed
  }
  void advance(std::size_t of, std::int64_t start) noexcept {
    std::int64_t before = starts_[of].load(std::memory_order_relaxed);  // relaxed: as above
    while (before < start && !starts_[of].compare_exchange_weak(before, start,
                                                                std::memory_order_relaxed))  // same
      ;
  }

 private:
  std::array<std::atomic<std::int64_t>, share_classes> starts_{};
};

/// What all plans of one model were given: where its next run may start, in virtual time. A unit is
/// a microsecond of a lane at weight 1. Lock-free.
class FairShare {
 public:
  static constexpr double least_weight = 0.01, most_weight = 100;

  /// From `least_weight` to `most_weight`: a model of twice the weight gets twice the lanes' time.
  void weigh(double weight) noexcept {
    weight_.store(weight, std::memory_order_relaxed);  // relaxed: runs from now on, or soon
  }
  [[nodiscard]] double weight() const noexcept {
    return weight_.load(std::memory_order_relaxed);  // relaxed: as above
  }
  /// Of a run that takes `cost_ns` of the lanes.
  [[nodiscard]] std::int64_t length(std::int64_t cost_ns) const noexcept {
    const double units = static_cast<double>(cost_ns) / (1'000.0 * weight());
    return std::max<std::int64_t>(static_cast<std::int64_t>(units), 1);
  }
  /// Where a run that came at virtual time `now` would start.
  [[nodiscard]] std::int64_t next(std::size_t of, std::int64_t now) const noexcept {
    return std::max(now, ends_[of].load(std::memory_order_relaxed));  // relaxed: as take()
  }
  /// The virtual start of a run that comes at virtual time `now`: not before the last one's end.
  [[nodiscard]] std::int64_t take(std::size_t of, std::int64_t now, std::int64_t length) noexcept {
    std::atomic<std::int64_t>& end = ends_[of];
    std::int64_t before = end.load(std::memory_order_relaxed);  // relaxed: no other data goes along
    std::int64_t start = std::max(now, before);
    while (!end.compare_exchange_weak(before, start + length, std::memory_order_relaxed))  // same
      start = std::max(now, before);
    return start;
  }
  /// Of a run that is not to be, after all.
  void give_back(std::size_t of, std::int64_t length) noexcept {
    ends_[of].fetch_sub(length, std::memory_order_relaxed);  // relaxed: as above
  }

 private:
  std::atomic<double> weight_{1.0};
  std::array<std::atomic<std::int64_t>, share_classes> ends_{};
};

}  // namespace engine
