#include "wire.hpp"

#include <algorithm>
#include <functional>

namespace placement {

void Wire::reset() noexcept {
  free_at_ns_ = 0;
  staged_bytes_ = 0;
  waiting_.clear();
  sent_.clear();
  ordered_ = taken_ = arrived_ = 0;
}

void Wire::save(LinkMoment& moment, Ns now_ns) const {
  moment.free_in_ns = std::max<Ns>(free_at_ns_ - now_ns, 0);
  moment.staged_bytes = staged_bytes_;
  moment.waiting.clear();
  for (std::size_t place = taken_; place < waiting_.size(); ++place)
    moment.waiting.push_back(waiting_[place].tensor);
}

void Wire::restore(const LinkMoment& moment, Ns now_ns) {
  reset();
  free_at_ns_ = now_ns + moment.free_in_ns;
  staged_bytes_ = moment.staged_bytes;
  // Who waits has its turn already: urgency decides no more.
  for (const Index tensor : moment.waiting) waiting_.push_back({0, tensor, now_ns});
  ordered_ = waiting_.size();
}

void Wire::sort_asked() {
  std::sort(waiting_.begin() + static_cast<std::ptrdiff_t>(ordered_), waiting_.end(), std::less{});
}

bool Wire::stage(Index tensor) noexcept {
  const std::int64_t need = staged(problem_->tensor(tensor).size_bytes);
  if (staged_bytes_ > 0 && need > *link_->staging_bytes - staged_bytes_) return false;
  staged_bytes_ += need;
  return true;
}

std::int64_t Wire::staged(std::int64_t size_bytes) const noexcept {
  return std::min(size_bytes, *link_->staging_bytes);
}

}  // namespace placement
