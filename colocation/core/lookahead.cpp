#include "lookahead.hpp"

#include <algorithm>

namespace colocation {

std::vector<Bin>& Lookahead::bins(std::size_t count) {
  bins_.resize(count);
  for (Bin& bin : bins_) bin.ends.clear();
  return bins_;
}

std::optional<std::size_t> Lookahead::goes_before(const WaitingBatch& first,
                                                  std::span<const WaitingBatch> others, Ns now_ns) {
  if (others.empty()) return std::nullopt;
  const auto urgent = std::min_element(others.begin(), others.end());
  if (urgent->deadline_ns >= first.deadline_ns) return std::nullopt;
  for (Bin& bin : bins_) std::sort(bin.ends.begin(), bin.ends.end());
  order_.assign(1, first);
  order_.insert(order_.end(), others.begin(), others.end());
  std::sort(order_.begin() + 1, order_.end());
  if (!any_late(now_ns)) return std::nullopt;
  std::sort(order_.begin(), order_.end());
  if (any_late(now_ns)) return std::nullopt;
  return static_cast<std::size_t>(urgent - others.begin());
}

bool Lookahead::any_late(Ns now_ns) {
  played_ = bins_;
  for (const WaitingBatch& task : order_) {
    std::size_t place = 0;
    Ns at_ns = earliest_ns(played_[0], task.share_percent, now_ns);
    for (std::size_t k = 1; k < played_.size() && at_ns > now_ns; ++k) {
      const Ns other_ns = earliest_ns(played_[k], task.share_percent, now_ns);
      if (other_ns < at_ns) at_ns = other_ns, place = k;
    }
    const Ns end_ns = at_ns + task.took_ns;
    if (end_ns > task.deadline_ns) return true;
    now_ns = at_ns;
    for (Bin& bin : played_) {
      auto end = bin.ends.begin();
      for (; end != bin.ends.end() && end->first <= now_ns; ++end) bin.free_percent += end->second;
      bin.ends.erase(bin.ends.begin(), end);
    }
    Bin& own = played_[place];
    own.free_percent -= task.share_percent;
    const std::pair<Ns, Count> held{end_ns, task.share_percent};
    own.ends.insert(std::upper_bound(own.ends.begin(), own.ends.end(), held), held);
  }
  return false;
}

Ns Lookahead::earliest_ns(const Bin& bin, Count share, Ns now_ns) {
  Count free_percent = bin.free_percent;
  if (free_percent >= share) return now_ns;
  for (const auto& [end_ns, held] : bin.ends) {
    free_percent += held;
    if (free_percent >= share) return std::max(now_ns, end_ns);
  }
  return now_ns;
}

}  // namespace colocation
