#include "ready_queue.hpp"

#include <algorithm>
#include <functional>

namespace placement {

void ReadyQueue::clear() noexcept {
  if (count_ > 0) ranks_.clear();
  keys_.clear();
  count_ = 0;
}

void ReadyQueue::push_by_moment(Key key) {
  keys_.push_back(key);
  std::ranges::push_heap(keys_, std::greater{});
}

Index ReadyQueue::pop_by_moment() {
  std::ranges::pop_heap(keys_, std::greater{});
  const Index rank = keys_.back().rank;
  keys_.pop_back();
  return rank;
}

void ReadyQueue::erase(Key key) {
  --count_;
  if (!by_moment_) {
    ranks_.erase(key.rank);
    return;
  }
  keys_.erase(std::ranges::find(keys_, key));
  std::ranges::make_heap(keys_, std::greater{});
}

const std::vector<Key>& ReadyQueue::firsts(std::size_t most) {
  firsts_.clear();
  if (by_moment_) {
    firsts_.resize(std::min(most, keys_.size()));
    std::ranges::partial_sort_copy(keys_, firsts_);
    return firsts_;
  }
  Index rank = ranks_.empty() ? nobody : ranks_.first();
  for (; rank != nobody && firsts_.size() < most; rank = ranks_.next(rank))
    firsts_.push_back({0, rank});
  return firsts_;
}

}  // namespace placement
