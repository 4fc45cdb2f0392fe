#include "estimate.hpp"

#include <algorithm>
#include <cmath>

namespace routing {

namespace {

constexpr double weight = 1.0 / 8.0;

}  // namespace

void Estimate::learn(Ns took_ns, Ns ahead_ns, std::int64_t others, Ns now_ns, Ns fade_ns) noexcept {
  const double cost = static_cast<double>(took_ns) / static_cast<double>(others + 1);
  // What was expected before it may have been too much; it has not taken less than its share.
  const double own = std::max(static_cast<double>(took_ns - ahead_ns), cost);
  // What was learnt before counts as far as it has not faded.
  const double part = is_known() ? 1.0 - (1.0 - weight) * left(now_ns, fade_ns) : 1.0;
  own_ns_ += part * (own - own_ns_);
  cost_ns_ += part * (cost - cost_ns_);
  learnt_ns_ = std::max<Ns>(1, now_ns);
}

Ns Estimate::own_ns(Ns now_ns, Ns fade_ns) const noexcept {
  return static_cast<Ns>(own_ns_ * left(now_ns, fade_ns));
}

double Estimate::left(Ns now_ns, Ns fade_ns) const noexcept {
  const auto age_ns = static_cast<double>(std::max<Ns>(0, now_ns - learnt_ns_));
  return std::exp2(-age_ns / static_cast<double>(fade_ns));
}

}  // namespace routing
