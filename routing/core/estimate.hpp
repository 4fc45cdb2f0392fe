// How long queries of one model take on one server, as learnt from those that were answered.
#pragma once

#include "types.hpp"

namespace routing {

/// Two means, each with a weight of an eighth for what comes: how long a query takes behind what is
/// expected before it, and by how much it makes a further one wait. A server that computes several
/// at once, or what others send there, shows in both. One thread at a time.
class Estimate {
 public:
  /// An answer after `took_ns`, of a query behind `others` of ours and `ahead_ns` of work.
  void learn(Ns took_ns, Ns ahead_ns, std::int64_t others, Ns now_ns, Ns fade_ns) noexcept;
  [[nodiscard]] bool is_known() const noexcept { return learnt_ns_ != 0; }
  /// What a query takes; less and less as nothing confirms it, to half in `fade_ns`.
  [[nodiscard]] Ns own_ns(Ns now_ns, Ns fade_ns) const noexcept;
  /// By how much a query makes a further one wait.
  [[nodiscard]] Ns cost_ns() const noexcept { return static_cast<Ns>(cost_ns_); }

 private:
  /// Of what was learnt: what has not faded, 1 at first.
  [[nodiscard]] double left(Ns now_ns, Ns fade_ns) const noexcept;

  double own_ns_ = 0.0, cost_ns_ = 0.0;
  Ns learnt_ns_ = 0;
};

}  // namespace routing
