#include "streams.hpp"

#include <algorithm>
#include <cstddef>

namespace placement {

Streams::Streams(Query& query, Index device)
    : query_(&query),
      device_(device),
      submit_ns_(query.problem.device(device).submit_ns),
      queue_(query.problem.task_count()),
      running_(static_cast<std::size_t>(query.problem.device(device).lanes)),
      next_(running_.size()) {}

void Streams::reset() noexcept {
  std::ranges::fill(running_, nobody);
  std::ranges::fill(next_, nobody);
  queue_.clear();
  is_due_ = false;
  free_ns_ = 0;
  count();
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
  count();
  for (const Index task : moment.waiting) queue_.push(query_->key(task));
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    if (running_[lane] != nobody) query_->is_running[at(running_[lane])] = 1;
    if (next_[lane] == nobody) continue;
    query_->launched_ns[at(next_[lane])] = now_ns + moment.launched_in[lane];
  }
}

void Streams::count() noexcept {
  idle_ = open_ = submitted_ = 0;
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    if (next_[lane] != nobody)
      ++submitted_;
    else
      ++(running_[lane] != nobody ? open_ : idle_);
  }
}

void Streams::end(Index task) noexcept {
  is_due_ = true;
  query_->is_running[at(task)] = 0;
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    if (running_[lane] != task) continue;
    running_[lane] = nobody;
    if (next_[lane] != nobody) continue;
    --open_;
    ++idle_;
  }
}

void Streams::dispatch_due(Ns now_ns) {
  is_due_ = false;
  do {
    while (submit_one(now_ns)) continue;
  } while (start_all(now_ns));
}

bool Streams::submit_one(Ns now_ns) {
  if (free_ns_ > now_ns) return false;
  if (queue_.empty()) return submit_ahead(now_ns);
  const Index head = query_->task(queue_.first());
  std::int64_t wanted = query_->width(head);
  if (idle_ < wanted) return wanted == 1 && submit_ahead(now_ns);
  queue_.pop();
  for (std::size_t lane = 0; wanted > 0; ++lane) {
    if (running_[lane] != nobody || next_[lane] != nobody) continue;
    next_[lane] = head;
    --idle_;
    ++submitted_;
    --wanted;
  }
  submit(head, now_ns);
  return true;
}

bool Streams::submit_ahead(Ns now_ns) {
  if (submit_ns_ == 0 || open_ == 0) return false;
  Prospect best{last_key, 0};
  if (!queue_.empty()) consider(queue_.first(), now_ns, best);
  for (const Index running : running_)
    if (running != nobody) consider_successors(running, best);
  if (best.key == last_key) return false;
  if (!queue_.empty() && queue_.first() == best.key) queue_.pop();
  const Index task = query_->task(best.key);
  next_[best.lane] = task;
  --open_;
  ++submitted_;
  submit(task, now_ns);
  return true;
}

void Streams::consider_successors(Index running, Prospect& best) const {
  const auto look_at = [&](Index task) {
    if (query_->home(task) != device_ || query_->launched_ns[at(task)] >= 0) return;
    const Key key = query_->key(task);
    if (!(key < best.key) || query_->width(task) > 1) return;
    // One that lacks a single input lacks what the running task makes.
    const auto there_ns =
        query_->missing[at(task)] == 1 ? query_->end_ns[at(running)] : inputs_ns(task);
    consider(key, there_ns, best);
  };
  for (const Index tensor : query_->problem.outputs_of(running)) {
    for (const Index task : query_->problem.consumers_of(tensor)) look_at(task);
    for (const Index task : query_->holds.waiters_of(tensor)) look_at(task);
  }
}

void Streams::consider(Key key, Ns inputs_ns, Prospect& best) const {
  Ns first_ns = end_of_times_ns;
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    if (running_[lane] == nobody || next_[lane] != nobody) continue;
    const Ns end_ns = query_->end_ns[at(running_[lane])];
    if (end_ns < inputs_ns || end_ns >= first_ns) continue;
    first_ns = end_ns;
    best = {key, lane};
  }
}

Ns Streams::inputs_ns(Index task) const {
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
  return count == query_->missing[at(task)] ? latest_ns : end_of_times_ns;
}

void Streams::submit(Index task, Ns now_ns) {
  const Ns launched_ns = later(now_ns, submit_ns_);
  query_->launched_ns[at(task)] = launched_ns;
  free_ns_ = later(launched_ns, query_->problem.launch_ns(task, device_));
  if (launched_ns != now_ns) wake_at(launched_ns);
  if (free_ns_ != launched_ns) wake_at(free_ns_);
}

bool Streams::start_all(Ns now_ns) {
  if (submitted_ == 0) return false;
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
  for (std::size_t lane = 0; lane < running_.size(); ++lane) {
    const Index task = next_[lane];
    if (task == nobody || query_->is_running[at(task)] == 0) continue;
    running_[lane] = task;
    next_[lane] = nobody;
    --submitted_;
    ++open_;
  }
  const auto lanes = static_cast<std::int64_t>(running_.size());
  const std::int64_t busy = lanes - std::ranges::count(running_, nobody);
  for (const Index task : started_)
    query_->start(task, now_ns, query_->problem.slowed_ns(task, query_->device(task), busy));
  return true;
}

}  // namespace placement
