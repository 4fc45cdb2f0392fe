#include "streams.hpp"

#include <algorithm>
#include <cstddef>

namespace placement {

Streams::Streams(Query& query, Index device)
    : query_(&query),
      device_(device),
      queue_(query.problem.task_count()),
      running_(static_cast<std::size_t>(query.problem.device(device).lanes)),
      next_(running_.size()) {}

void Streams::reset() noexcept {
  std::ranges::fill(running_, nobody);
  std::ranges::fill(next_, nobody);
  queue_.clear();
  is_due_ = false;
  free_ns_ = 0;
  queue_.order_by_moment(query_->is_fifo);
}

void Streams::save(DeviceMoment& moment, Ns now_ns) {
  const auto from_now = [&](Ns ns) { return std::max<Ns>(ns - now_ns, 0); };
  moment.thread_in_ns = from_now(free_ns_);
  moment.waiting.clear();
  for (const Key key : queue_.firsts(query_->missing.size()))
    moment.waiting.push_back(query_->task(key));
  moment.running = running_;
  moment.next = next_;
  moment.launched_in.clear();
  for (const Index task : next_)
    moment.launched_in.push_back(task == nobody ? 0 : from_now(query_->launched_ns[at(task)]));
}

void Streams::restore(const DeviceMoment& moment, Ns now_ns) {
  reset();
  is_due_ = true;
  free_ns_ = now_ns + moment.thread_in_ns;
  running_ = moment.running;
  next_ = moment.next;
  for (const Index task : moment.waiting) queue_.push(query_->key(task));
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    if (running_[lane] != nobody) query_->is_running[at(running_[lane])] = 1;
    if (next_[lane] == nobody) continue;
    query_->launched_ns[at(next_[lane])] = now_ns + moment.launched_in[lane];
  }
}

void Streams::dispatch_due(Ns now_ns) {
  is_due_ = false;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    while (submit_one(now_ns)) goes_on = true;
    if (start_all(now_ns)) goes_on = true;
  }
}

bool Streams::submit_one(Ns now_ns) {
  if (free_ns_ > now_ns) return false;
  if (queue_.empty()) return submit_ahead(now_ns);
  const Index head = query_->task(queue_.first());
  std::int64_t wanted = query_->width(head);
  std::int64_t idle = 0;
  for (std::size_t lane = 0; lane < running_.size(); ++lane) idle += is_idle(lane) ? 1 : 0;
  if (idle < wanted) return wanted == 1 && submit_ahead(now_ns);
  queue_.pop();
  for (std::size_t lane = 0; wanted > 0; ++lane) {
    if (!is_idle(lane)) continue;
    next_[lane] = head;
    --wanted;
  }
  submit(head, now_ns);
  return true;
}

bool Streams::submit_ahead(Ns now_ns) {
  if (query_->problem.device(device_).submit_ns == 0) return false;
  std::optional<Prospect> best;
  if (!queue_.empty()) consider(queue_.first(), now_ns, best);
  for (const Index running : running_)
    if (running != nobody) consider_successors(running, best);
  if (!best) return false;
  if (!queue_.empty() && queue_.first() == best->key) queue_.pop();
  const Index task = query_->task(best->key);
  next_[best->lane] = task;
  submit(task, now_ns);
  return true;
}

void Streams::consider_successors(Index running, std::optional<Prospect>& best) const {
  const auto look_at = [&](Index task) {
    if (query_->home(task) != device_ || query_->launched_ns[at(task)] >= 0) return;
    if (query_->width(task) > 1) return;
    if (const auto there_ns = inputs_ns(task)) consider(query_->key(task), *there_ns, best);
  };
  for (const Index tensor : query_->problem.outputs_of(running)) {
    for (const Index task : query_->problem.consumers_of(tensor)) look_at(task);
    for (const Index task : query_->holds.waiters_of(tensor)) look_at(task);
  }
}

void Streams::consider(Key key, Ns inputs_ns, std::optional<Prospect>& best) const {
  if (best && !(key < best->key)) return;
  std::optional<std::size_t> first;
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    if (running_[lane] == nobody || next_[lane] != nobody) continue;
    const Ns end_ns = query_->end_ns[at(running_[lane])];
    if (end_ns < inputs_ns) continue;
    if (!first || end_ns < query_->end_ns[at(running_[*first])]) first = lane;
  }
  if (first) best = Prospect{key, *first};
}

std::optional<Ns> Streams::inputs_ns(Index task) const {
  Index count = 0;
  Ns latest_ns = 0;
  const auto look_at = [&](Index tensor) {
    const Index producer = query_->problem.tensor(tensor).producer;
    if (producer == nobody || query_->home(producer) != device_) return;
    if (query_->is_running[at(producer)] == 0) return;
    ++count;
    latest_ns = std::max(latest_ns, query_->end_ns[at(producer)]);
  };
  for (const Index tensor : query_->problem.inputs_of(task)) look_at(tensor);
  for (const Index tensor : query_->holds.inputs_of(task)) look_at(tensor);
  if (count != query_->missing[at(task)]) return std::nullopt;
  return latest_ns;
}

void Streams::submit(Index task, Ns now_ns) {
  const Ns launched_ns = later(now_ns, query_->problem.device(device_).submit_ns);
  query_->launched_ns[at(task)] = launched_ns;
  free_ns_ = later(launched_ns, query_->problem.launch_ns(task, device_));
  if (launched_ns != now_ns) wake_at(launched_ns);
  if (free_ns_ != launched_ns) wake_at(free_ns_);
}

bool Streams::start_all(Ns now_ns) {
  started_.clear();
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    const Index task = next_[lane];
    if (task == nobody || running_[lane] != nobody) continue;
    char& is_running = query_->is_running[at(task)];
    if (is_running != 0 || query_->missing[at(task)] != 0) continue;
    if (query_->launched_ns[at(task)] > now_ns) continue;
    is_running = 1;
    started_.push_back(task);
  }
  if (started_.empty()) return false;
  std::int64_t busy = 0;
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    const Index task = next_[lane];
    if (task != nobody && query_->is_running[at(task)] != 0) {
      running_[lane] = task;
      next_[lane] = nobody;
    }
    busy += running_[lane] != nobody ? 1 : 0;
  }
  for (const Index task : started_)
    query_->start(task, now_ns, query_->problem.slowed_ns(task, query_->device(task), busy));
  return true;
}

}  // namespace placement
