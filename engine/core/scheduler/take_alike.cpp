// Runs of one plan taken from the queue together: the part of ReadyQueue that does it.
#include <algorithm>
#include <mutex>

#include "scheduler/ready_queue.hpp"
#include "scheduler/run.hpp"

namespace engine {

std::size_t ReadyQueue::take_alike(std::uint32_t family, std::span<Run*> found, int lanes,
                                   std::int64_t late_from_ns) {
  const std::lock_guard lock(lock_);
  const auto takers = static_cast<std::size_t>(lanes);
  const std::size_t wanted = std::min(found.size(), (count_alike(family) + takers) / takers - 1);
  if (wanted == 0) return 0;
  put_back_front();
  const Entry* before = nullptr;  // the first of all that are passed over, as none is before it
  passed_.clear();
  std::size_t taken = 0;
  for (std::size_t looks = alike_looks; looks > 0 && taken < wanted && !runs_.empty(); --looks) {
    const Entry& next = runs_.front();
    if (next.has_wide_nodes || (before != nullptr && before->order.preempts(next.order))) break;
    std::pop_heap(runs_.begin(), runs_.end());
    Entry entry = runs_.back();
    runs_.pop_back();
    const bool is_late = entry.order.may_be_late() && entry.order.due_ns < late_from_ns;
    if (entry.family == family && !is_late) {
      static_cast<void>(entry.run->ready(executor_).pop_first());
      found[taken++] = entry.run;
      continue;
    }
    if (entry.family == family) entry.order = entry.order.late();
    passed_.push_back(entry);
    if (entry.family != family && before == nullptr) before = &passed_.back();
  }
  for (const Entry& entry : passed_) enter(entry);
  add_size(static_cast<std::uint32_t>(-static_cast<std::int64_t>(taken)));
  if (runs_.empty()) {
    first_.bits = 0;
    show_nothing();
  } else {
    refill_front();
    show();
  }
  return taken;
}

/// Among those that are looked at.
std::size_t ReadyQueue::count_alike(std::uint32_t family) const noexcept {
  if (first_.bits == 0) return 0;
  const std::size_t looks = std::min(runs_.size(), alike_looks);
  const auto end = runs_.begin() + static_cast<std::ptrdiff_t>(looks);
  const auto alike =
      std::count_if(runs_.begin(), end, [&](const Entry& entry) { return entry.family == family; });
  return static_cast<std::size_t>(alike) + (front_.family == family ? 1 : 0);
}

}  // namespace engine
