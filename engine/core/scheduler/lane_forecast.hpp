// When the seats of a CPU device are predicted to come free.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace engine {

/// Lanes say what they execute and until when, if that is predicted. Each writes its own row; any
/// thread reads them, one at a time. Advice, so relaxed throughout: a row that is just being
/// written is wrong for one decision.
class LaneForecast {
 public:
  explicit LaneForecast(int lanes)
      : lanes_(static_cast<std::size_t>(lanes)), rows_(std::make_unique<Row[]>(lanes_)) {
    ends_.reserve(lanes_);
  }

  /// `end_ns` on the monotonic clock.
  void begin(int lane, int seats, std::int64_t end_ns) noexcept {
    Row& row = rows_[static_cast<std::size_t>(lane)];
    row.end_ns.store(end_ns, std::memory_order_relaxed);  // advice
    row.seats.store(seats, std::memory_order_relaxed);    // advice
  }
  void end(int lane) noexcept {
    rows_[static_cast<std::size_t>(lane)].seats.store(0, std::memory_order_relaxed);  // advice
  }
  /// When `seats` of the `taken` ones will be free; those of unknown end may be free at `now_ns`.
  [[nodiscard]] std::int64_t free_ns(int seats, int taken, std::int64_t now_ns) {
    ends_.clear();
    int unknown = taken;
    for (std::size_t i = 0; i < lanes_; ++i) {
      const int held = rows_[i].seats.load(std::memory_order_relaxed);  // advice
      if (held == 0) continue;
      ends_.emplace_back(rows_[i].end_ns.load(std::memory_order_relaxed), held);  // advice
      unknown -= held;
    }
    std::sort(ends_.begin(), ends_.end());
    std::int64_t free_ns = now_ns;
    int free = std::max(unknown, 0);
    for (std::size_t i = 0; i < ends_.size() && free < seats; ++i) {
      free += ends_[i].second;
      free_ns = std::max(free_ns, ends_[i].first);
    }
    return free_ns;
  }

 private:
  struct alignas(64) Row {
    std::atomic<int> seats{0};
    std::atomic<std::int64_t> end_ns{0};
  };

  const std::size_t lanes_;
  const std::unique_ptr<Row[]> rows_;
  std::vector<std::pair<std::int64_t, int>> ends_;  ///< of free_ns(), which allocates nothing
};

}  // namespace engine
