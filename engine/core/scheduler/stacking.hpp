// How runs of one plan may be answered together: how many, and what that takes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "devices/stacker.hpp"

namespace engine {

/// Of a plan of one node (Plan::stack_by). Immutable but for what is observed; thread-safe.
class Stacking {
 public:
  /// So many runs at once, at most.
  static constexpr std::size_t most_queries = 64;

  /// A query of fewer rows is answered alone: its bits would be others. `takes_ns` is what a call
  /// takes for 1, 2, ... rows; there are no larger stacks. Throws std::invalid_argument unless
  /// these are positive and `least_rows` is among them.
  Stacking(std::shared_ptr<const Stacker> stacker, std::uint32_t least_rows,
           std::vector<std::int64_t> takes_ns);

  [[nodiscard]] const Stacker& stacker() const noexcept { return *stacker_; }
  [[nodiscard]] std::uint32_t least_rows() const noexcept { return least_rows_; }
  [[nodiscard]] std::uint32_t most_rows() const noexcept {
    return static_cast<std::uint32_t>(takes_ns_.size());
  }
  /// As measured, in the measure of what was observed lately; `rows` from 1 to most_rows().
  [[nodiscard]] std::int64_t takes_ns(std::uint32_t rows) const noexcept;
  /// The most rows that take no longer than that; 0: none.
  [[nodiscard]] std::uint32_t rows_within(std::int64_t duration_ns) const noexcept;
  /// Whether a stack of that many rows is worth it, where its queries would take so long one by
  /// one, by takes_ns().
  [[nodiscard]] bool gains(std::uint32_t rows, std::int64_t alone_ns) const noexcept;

  /// A stack was answered.
  void note(std::uint32_t rows, std::int64_t took_ns, std::size_t queries) const noexcept;
  /// One failed, and its queries were answered one by one.
  void note_failure() const noexcept;
  /// Whether the last ones all failed: it costs more than it brings.
  [[nodiscard]] bool has_failed() const noexcept;
  /// Stacks that were answered, and queries in these.
  [[nodiscard]] std::uint64_t stacks() const noexcept;
  [[nodiscard]] std::uint64_t queries() const noexcept;

  /// Stacks of one size.
  struct OfSize {
    std::uint64_t stacks = 0;
    std::uint64_t took_ns = 0;
  };
  /// Those of so many queries, at most `most_queries`.
  [[nodiscard]] OfSize of_size(std::size_t queries) const noexcept;

 private:
  struct Count {
    std::atomic<std::uint64_t> stacks{0}, took_ns{0};
  };
  const std::shared_ptr<const Stacker> stacker_;
  const std::uint32_t least_rows_;
  const std::vector<std::int64_t> takes_ns_;
  mutable std::atomic<float> pace_{1.0F};               ///< observed over measured
  mutable std::atomic<int> failures_{0};                ///< since the last one that was answered
  mutable std::array<Count, most_queries + 1> counts_;  ///< by queries
};

}  // namespace engine
