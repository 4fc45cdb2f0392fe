// Which of the runs that wait in a room are its next call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "scheduler/plan.hpp"
#include "scheduler/queue_rules.hpp"
#include "scheduler/stacking.hpp"

namespace engine {

class Run;

/// One that waits in a WaitingRoom.
struct Waiting {
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  Run* run = nullptr;
  const Plan* plan = nullptr;
  std::uint32_t rows = 0;  ///< 0: it is not stacked
  std::int64_t hold_until_ns = 0, expires_ns = never;
};

/// The most rows of a call: what the rules allow and the model was measured for.
[[nodiscard]] inline std::uint32_t most_rows(const QueueRules& rules, const Stacking& stacking) {
  return rules.most_rows == 0 ? stacking.most_rows()
                              : std::min(rules.most_rows, stacking.most_rows());
}

/// Is shown those that wait one after the other, in the order in which they go, and says how many
/// of these are one call. Lives no longer than what it is given; one thread at a time; O(1) each.
class NextCall {
 public:
  NextCall(const QueueRules& rules, const Waiting& leader)
      : rules_(rules),
        plan_(*leader.plan),
        stacking_(leader.rows == 0 ? nullptr : leader.plan->stacking()) {}

  /// False: it is not of this call, and neither is who comes behind it.
  [[nodiscard]] bool take(const Waiting& one) {
    if (stacking_ == nullptr) return count_++ == 0;
    is_full_ = one.rows == 0 || one.plan != &plan_ ||
               rows_ + one.rows > most_rows(rules_, *stacking_) || count_ == Stacking::most_queries;
    if (is_full_) return false;
    rows_ += one.rows;
    ++count_;
    alone_ns_ += stacking_->takes_ns(one.rows);
    hold_until_ns_ = std::min(hold_until_ns_, one.hold_until_ns);
    if (count_ == 1 || stacking_->gains(rows_, alone_ns_)) gaining_ = {count_, rows_};
    if (std::ranges::binary_search(rules_.preferred_rows, rows_)) preferred_ = {count_, rows_};
    return true;
  }
  /// Whether it would rather wait for others.
  [[nodiscard]] bool is_held(std::int64_t now_ns) const {
    if (stacking_ == nullptr || preferred_.count != 0 || is_full_) return false;
    const bool exceeds = !rules_.preferred_rows.empty() && rows_ > rules_.preferred_rows.back();
    const bool fits_more = rows_ + stacking_->least_rows() <= most_rows(rules_, *stacking_);
    return !exceeds && fits_more && now_ns < hold_until_ns_;
  }
  /// How many go, once no others are waited for.
  [[nodiscard]] std::size_t count() const noexcept { return chosen().count; }
  /// How long their call is expected to take; 0: nothing is known.
  [[nodiscard]] std::int64_t takes_ns() const {
    const std::uint32_t rows = chosen().rows;
    return rows == 0 ? plan_.expected_ns() : stacking_->takes_ns(rows);
  }

 private:
  struct Part {
    std::size_t count = 0;
    std::uint32_t rows = 0;  ///< 0: it is not stacked
  };

  [[nodiscard]] const Part& chosen() const noexcept {
    return preferred_.count != 0 && preferred_.count < gaining_.count ? preferred_ : gaining_;
  }

  const QueueRules& rules_;
  const Plan& plan_;
  const Stacking* const stacking_;  ///< null: it is one run
  std::uint32_t rows_ = 0;
  std::size_t count_ = 0;
  Part gaining_{.count = 1}, preferred_;
  std::int64_t alone_ns_ = 0, hold_until_ns_ = Waiting::never;
  bool is_full_ = false;
};

}  // namespace engine
