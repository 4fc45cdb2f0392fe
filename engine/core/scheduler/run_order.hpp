// Which of two runs goes first, on every device.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace engine {

/// What the queries of a model are, unless one says otherwise.
struct Urgency {
  std::int64_t due_after_ns = 0;  ///< from submission on; 0: they are not due
  int priority = 0;               ///< the higher goes first
  bool best_effort = false;       ///< behind all that is not
};

/// The order between runs: best effort last, then the higher priority; then those that may be in
/// time, those that come late, and those that are not due; then the earlier time at which they are
/// due, or, of those that are not, the earlier virtual start, by which models share the lanes
/// (fair_share.hpp); then the earlier arrival. The smaller goes first; no two runs of a machine are
/// equal. A pure function of what `of` is given.
///
/// That late ones give way is what keeps the earliest-due order from collapsing in overload: a run
/// that cannot be in time any more would make the next ones late, too.
struct RunOrder {
  static constexpr std::int64_t not_due = 2;
  static constexpr std::int64_t behind_all = std::int64_t{1} << 40;
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  std::int64_t rank = not_due;  ///< best effort, reversed priority, how it stands
  std::int64_t due_ns = never;  ///< of one that is not due: its virtual start
  std::uint64_t arrival = 0;

  /// `due_ns` 0: not due; only then `start` counts.
  [[nodiscard]] static RunOrder of(int priority, bool best_effort, std::int64_t due_ns,
                                   std::uint64_t arrival, std::int64_t start = never) noexcept {
    const std::int64_t rank = (best_effort ? behind_all : 0) - 4 * std::int64_t{priority};
    return due_ns != 0 ? RunOrder{rank, due_ns, arrival} : RunOrder{rank + not_due, start, arrival};
  }
  [[nodiscard]] bool is_due() const noexcept { return (rank & 3) != not_due; }
  [[nodiscard]] bool is_best_effort() const noexcept { return rank > behind_all / 2; }
  /// Whether it is more than its arrival that says when it goes.
  [[nodiscard]] bool is_of_rank() const noexcept { return rank != not_due; }
  /// Whether it goes before `other` by more than its arrival or its model's share.
  [[nodiscard]] bool preempts(const RunOrder& other) const noexcept {
    return rank < other.rank || (rank == other.rank && is_due() && due_ns < other.due_ns);
  }
  /// Whether it is of the same priority, and as much best effort.
  [[nodiscard]] bool is_of_class(const RunOrder& other) const noexcept {
    return rank >> 2 == other.rank >> 2;
  }
  /// Whether it may come late, and is not known to.
  [[nodiscard]] bool may_be_late() const noexcept { return (rank & 3) == 0; }
  /// The same, late.
  [[nodiscard]] RunOrder late() const noexcept { return {rank + 1, due_ns, arrival}; }
  friend auto operator<=>(const RunOrder&, const RunOrder&) = default;
};

}  // namespace engine
