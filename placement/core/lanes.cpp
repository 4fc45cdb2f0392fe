#include "lanes.hpp"

#include <algorithm>
#include <cstddef>

namespace placement {

namespace {

/// How many tasks behind a wide one are looked at.
constexpr std::size_t backfill_looks = 256;

}  // namespace

Lanes::Lanes(Query& query, Index device)
    : query_(&query),
      device_(device),
      has_wide_(query.problem.has_wide(device)),
      free_(query.problem.device(device).lanes),
      queue_(query.problem.task_count()) {}

void Lanes::reset() noexcept {
  free_ = query_->problem.device(device_).lanes;
  queue_.clear();
  running_.clear();
  work_ns_ = 0;
  last_end_ns_ = 0;
  queue_.order_by_moment(query_->is_fifo);
}

std::int64_t Lanes::end_wide(Index task) noexcept {
  std::erase(running_, task);
  return query_->width(task);
}

void Lanes::start_wide(Ns now_ns) {
  while (free_ > 0 && !queue_.empty()) {
    const Index head = query_->task(queue_.first());
    const std::int64_t width = query_->width(head);
    if (width > free_) {
      if (!start_behind(width, now_ns)) return;
      continue;
    }
    queue_.pop();
    start(head, width, now_ns);
  }
}

void Lanes::save(DeviceMoment& moment) {
  moment.free_lanes = free_;
  moment.work_ns = work_ns_;
  moment.waiting.clear();
  if (!queue_.empty())
    for (const Key key : queue_.firsts(at(query_->problem.task_count())))
      moment.waiting.push_back(query_->task(key));
  moment.running = running_;
  std::ranges::sort(moment.running);
}

void Lanes::restore(const DeviceMoment& moment) {
  reset();
  free_ = moment.free_lanes;
  work_ns_ = moment.work_ns;
  for (const Index task : moment.waiting) queue_.push(query_->key(task));
  running_ = moment.running;
}

double Lanes::least_end_ns(Ns now_ns) const noexcept {
  // Where nothing is left to start, it may be a thread alone that is busy still.
  if (work_ns_ <= 0) return static_cast<double>(last_end_ns_);
  const std::int64_t lanes = query_->problem.device(device_).lanes;
  const Ns from_ns = lanes == 1 ? std::max(now_ns, last_end_ns_) : now_ns;
  return static_cast<double>(from_ns) + work_ns_ / static_cast<double>(lanes);
}

bool Lanes::start_behind(std::int64_t width, Ns now_ns) {
  const Ns time_ns = free_ns(width) - now_ns;
  if (time_ns <= 0) return false;
  for (const Key key : queue_.firsts(backfill_looks)) {
    const Index task = query_->task(key);
    const Ns service_ns = query_->service_ns(task);
    if (query_->width(task) != 1 || service_ns <= 0 || service_ns > time_ns) continue;
    queue_.erase(key);
    start(task, 1, now_ns);
    return true;
  }
  return false;
}

Ns Lanes::free_ns(std::int64_t width) {
  const auto end_of = [&](Index task) { return query_->end_ns[at(task)]; };
  std::ranges::sort(running_, {}, end_of);
  std::int64_t free = free_;
  Ns end_ns = 0;
  for (const Index task : running_) {
    if (free >= width) break;
    free += query_->width(task);
    end_ns = end_of(task);
  }
  return end_ns;
}

}  // namespace placement
