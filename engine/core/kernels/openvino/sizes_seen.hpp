// How many of the latest queries had the sizes that a model was compiled for.
#pragma once

#include <atomic>
#include <cstdint>

namespace engine::kernels::openvino {

/// Counts queries in windows. Thread-safe, without a lock; O(1).
class SizesSeen {
 public:
  static constexpr std::uint64_t window = 64;

  /// Of one more query. Whether it ended a window of which more than half had other sizes.
  [[nodiscard]] bool note(bool fits) noexcept {
    // relaxed: the two counts are one word, and nothing else depends on them
    const std::uint64_t counts = both_.fetch_add(fits ? 1 : 1 + other, std::memory_order_relaxed);
    const std::uint64_t seen = (counts & (other - 1)) + 1;
    if (seen != window) return false;
    const std::uint64_t others = counts / other + (fits ? 0 : 1);
    both_.store(0, std::memory_order_relaxed);  // what overlaps is counted in neither
    return 2 * others > window;
  }

 private:
  static constexpr std::uint64_t other = std::uint64_t{1} << 32;  // queries below, others above
  std::atomic<std::uint64_t> both_{0};
};

}  // namespace engine::kernels::openvino
