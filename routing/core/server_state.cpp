#include "server_state.hpp"

#include <algorithm>

namespace routing {

Ns ServerState::ahead_ns(Ns now_ns) const noexcept {
  const Ns since_ns = std::max<Ns>(0, now_ns - reported_ns_);
  return std::max<Ns>(0, reported_wait_ns_ - since_ns) + unreported_ns;
}

void ServerState::report(Ns wait_ns, Ns now_ns) noexcept {
  reported_ns_ = now_ns;
  reported_wait_ns_ = wait_ns;
  unreported_ns = 0;
  ++reports;
}

void ServerState::finish(Ns cost_ns, std::uint64_t when_reports) noexcept {
  if (when_reports == reports) unreported_ns = std::max<Ns>(0, unreported_ns - cost_ns);
}

void ServerState::fail(Ns now_ns, const BalancerParams& params) noexcept {
  if (++in_row >= params.most_failures || last_eject_ns != 0) eject(now_ns, params);
}

void ServerState::lose(Ns now_ns, const BalancerParams& params) noexcept {
  ++in_row;
  report(0, now_ns);  // of what it did nothing is left
  eject(now_ns, params);
}

void ServerState::restore() noexcept {
  in_row = 0;
  last_eject_ns = 0;
  ejected_until_ns = 0;
}

void ServerState::eject(Ns now_ns, const BalancerParams& params) noexcept {
  if (ejected_until_ns > now_ns) return;
  last_eject_ns =
      last_eject_ns == 0 ? params.eject_ns : std::min(2 * last_eject_ns, params.most_eject_ns);
  ejected_until_ns = now_ns + last_eject_ns;
  ++counts.ejections;
}

}  // namespace routing
