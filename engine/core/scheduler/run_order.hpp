// Which of two runs goes first, on every device.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace engine {

/// The order between runs: the higher priority, then the earlier deadline (none is the latest),
/// then the earlier arrival. The smaller goes first; no two runs of a machine are equal.
struct RunOrder {
  std::int64_t reversed_priority = 0;
  std::int64_t deadline_ns = std::numeric_limits<std::int64_t>::max();
  std::uint64_t arrival = 0;

  /// `deadline_ns` 0: none.
  [[nodiscard]] static RunOrder of(int priority, std::int64_t deadline_ns,
                                   std::uint64_t arrival) noexcept {
    return {-std::int64_t{priority},
            deadline_ns != 0 ? deadline_ns : std::numeric_limits<std::int64_t>::max(), arrival};
  }
  friend auto operator<=>(const RunOrder&, const RunOrder&) = default;
};

}  // namespace engine
