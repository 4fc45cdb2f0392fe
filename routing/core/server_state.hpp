// What is known of one server: whether it answers, and what work lies before a new query.
#pragma once

#include "types.hpp"

namespace routing {

/// One thread at a time; the caller says what time it is.
struct ServerState {
  ServerCounts counts;
  Ns ejected_until_ns = 0;
  Ns last_eject_ns = 0;       ///< how long it was ejected the last time; 0: it has answered since
  std::int64_t in_row = 0;    ///< failures since the last answer
  std::uint64_t trial = 0;    ///< the ticket that tries whether it is back; 0: none does
  Ns unreported_ns = 0;       ///< of work that was sent since it said what there was
  std::uint64_t reports = 0;  ///< how often it has said so

  /// The work before a new query: what it has said, less the time since then, and what was sent
  /// there since.
  [[nodiscard]] Ns ahead_ns(Ns now_ns) const noexcept;
  /// It says, or has shown, that a new query would wait so long.
  void report(Ns wait_ns, Ns now_ns) noexcept;
  /// Of work that was expected to take `cost_ns` when there were so many reports: it has ended.
  void finish(Ns cost_ns, std::uint64_t when_reports) noexcept;

  /// Whether it may be asked: it is not ejected, and no query tries out whether it is back.
  [[nodiscard]] bool is_open(Ns now_ns) const noexcept {
    return ejected_until_ns <= now_ns && (last_eject_ns == 0 || trial == 0);
  }
  /// It failed; ejected for it once that is the `most_failures`th time in a row, or the first one
  /// behind an ejection.
  void fail(Ns now_ns, const BalancerParams& params) noexcept;
  /// It can be reached no more.
  void lose(Ns now_ns, const BalancerParams& params) noexcept;
  /// It answers.
  void restore() noexcept;

 private:
  void eject(Ns now_ns, const BalancerParams& params) noexcept;

  Ns reported_ns_ = 0, reported_wait_ns_ = 0;
};

}  // namespace routing
