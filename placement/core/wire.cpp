#include "wire.hpp"

#include <algorithm>
#include <functional>

namespace placement {

void Wire::reset(Streams* thread) noexcept {
  thread_ = link_->is_pageable ? thread : nullptr;
  free_at_ns_ = 0;
  staged_bytes_ = 0;
  asked_.clear();
  waiting_.clear();
  taken_ = 0;
}

void Wire::save(LinkMoment& moment, Ns now_ns) const {
  moment.free_in_ns = std::max<Ns>(free_at_ns_ - now_ns, 0);
  moment.staged_bytes = staged_bytes_;
  moment.waiting.clear();
  for (std::size_t place = taken_; place < waiting_.size(); ++place)
    moment.waiting.push_back(waiting_[place].tensor);
}

void Wire::restore(const LinkMoment& moment, Ns now_ns) {
  free_at_ns_ = now_ns + moment.free_in_ns;
  staged_bytes_ = moment.staged_bytes;
  asked_.clear();
  waiting_.clear();
  taken_ = 0;
  // Who waits has its turn already: urgency decides no more.
  for (const Index tensor : moment.waiting) waiting_.push_back({0, tensor, now_ns});
}

std::optional<Asked> Wire::take_next() {
  if (!asked_.empty()) {
    std::ranges::sort(asked_, std::less{});
    waiting_.insert(waiting_.end(), asked_.begin(), asked_.end());
    asked_.clear();
  }
  if (taken_ == waiting_.size()) return std::nullopt;
  const std::int64_t need = staged(problem_->tensor(waiting_[taken_].tensor).size_bytes);
  if (staged_bytes_ > 0 && need > *link_->staging_bytes - staged_bytes_) return std::nullopt;
  staged_bytes_ += need;
  return waiting_[taken_++];
}

Held Wire::start(std::int64_t size_bytes, Ns now_ns) {
  Ns start_ns = std::max(now_ns, free_at_ns_);
  if (thread_ != nullptr) start_ns = thread_->free_ns(start_ns);
  free_at_ns_ = later(start_ns, problem_->hold_ns(*link_, size_bytes));
  if (thread_ != nullptr) thread_->hold(free_at_ns_);
  return {start_ns, later(free_at_ns_, link_->latency_ns)};
}

bool Wire::arrive(std::int64_t size_bytes) noexcept {
  staged_bytes_ -= staged(size_bytes);
  return taken_ < waiting_.size();
}

std::int64_t Wire::staged(std::int64_t size_bytes) const noexcept {
  return link_->staging_bytes ? std::min(size_bytes, *link_->staging_bytes) : 0;
}

}  // namespace placement
