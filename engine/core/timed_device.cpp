#include "timed_device.hpp"

#include <sys/prctl.h>

#include <algorithm>

namespace engine {

TimedDevice::TimedDevice(std::string name, int lanes, Machine& machine)
    : Device(std::move(name), lanes), machine_(machine) {}

void TimedDevice::start() {
  thread_ = std::thread([this] { work(); });
}

void TimedDevice::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  parked_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TimedDevice::push(const Task& task) {
  inbox_.push(task);
  parked_.notify(1);
}

void TimedDevice::kick() noexcept {
  kicked_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  parked_.notify(1);
}

DeviceStats TimedDevice::stats() const {
  // relaxed, both: statistics
  return {.executed = executed_.load(std::memory_order_relaxed),
          .queued = inbox_.size() + backlog_size_.load(std::memory_order_relaxed)};
}

void TimedDevice::work() {
  prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would delay every completion
  while (!stopping_.load(std::memory_order_seq_cst)) {  // seq_cst: tested before parking
    if (!step()) park();
  }
}

/// One piece of work; false if there is none now.
bool TimedDevice::step() {
  if (kicked_.exchange(false, std::memory_order_seq_cst)) end_stopped();  // seq_cst: see kick()
  drain();
  if (next_deadline_ns_ != 0 && now_ns() >= next_deadline_ns_) end_late();
  return end_one() || launch_one();
}

void TimedDevice::drain() {
  inbox_.take_all(arrivals_);
  for (const Task& task : arrivals_) {
    backlog_.insert({{task.run->order(), task.run->plan().node(task.node).position}, task});
    watch(*task.run);
  }
  backlog_size_.store(backlog_.size(), std::memory_order_relaxed);  // relaxed: a statistic
}

bool TimedDevice::launch_one() {
  if (backlog_.empty()) return false;
  const Task task = backlog_.begin()->task;
  const PlanNode& node = task.run->plan().node(task.node);
  const bool skipped = task.run->should_skip();
  if (!skipped && !can_start(node, now_ns())) return false;
  backlog_.erase(backlog_.begin());
  if (skipped) {
    skip(task);
    return true;
  }
  Pending pending{.task = task, .span = {}, .values = {}};
  task.run->take_inputs(node, pending.values);
  pending.span = launch(task, node, pending.values);
  pending_.push_back(std::move(pending));
  std::push_heap(pending_.begin(), pending_.end(), LaterEnd{});
  return true;
}

void TimedDevice::skip(const Task& task) {
  const std::int64_t now = now_ns();
  Pending pending{.task = task, .span = {-1, now, now}, .values = {}};
  task.run->take_inputs(task.run->plan().node(task.node), pending.values);
  end(pending, -1);
}

bool TimedDevice::end_one() {
  if (pending_.empty() || pending_.front().span.end_ns > now_ns()) return false;
  std::pop_heap(pending_.begin(), pending_.end(), LaterEnd{});
  Pending pending = std::move(pending_.back());
  pending_.pop_back();
  executed_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  end(pending, pending.span.lane);
  return true;
}

void TimedDevice::end(Pending& pending, int lane) {
  Run& run = *pending.task.run;
  const std::uint32_t index = pending.task.node;
  const PlanNode& node = run.plan().node(index);
  const std::int64_t end_ns = pending.span.end_ns;
  run.publish(index, node, pending.values);
  const bool traced = run.traced();
  if (traced) run.trace(index, lane, pending.span.start_ns, end_ns);
  run.complete(node, [&](std::uint32_t next_index, const PlanNode& next) {
    if (traced) run.trace_ready(next_index, end_ns);
    made_ready_.emplace_back(next.executor, Task{&run, next_index, end_ns});
  });
  // Most urgent first; and after the loop, since the run may end with the last push.
  for (; !made_ready_.empty(); made_ready_.pop_back())
    machine_.executor(made_ready_.back().first).push(made_ready_.back().second);
}

void TimedDevice::watch(const Run& run) noexcept {
  const std::int64_t deadline_ns = run.deadline_ns();
  if (deadline_ns != 0 && (next_deadline_ns_ == 0 || deadline_ns < next_deadline_ns_))
    next_deadline_ns_ = deadline_ns;
}

/// Stops the runs held here whose deadline passed, and finds the next deadline.
void TimedDevice::end_late() {
  next_deadline_ns_ = 0;
  const auto visit = [this](Run& run) {
    if (!run.should_skip()) watch(run);
  };
  for (const Pending& pending : pending_) visit(*pending.task.run);
  for (const Waiting& waiting : backlog_) visit(*waiting.task.run);
  end_stopped();
}

/// Nodes of stopped runs need not wait for their clock, nor for a lane.
void TimedDevice::end_stopped() {
  for (auto waiting = backlog_.begin(); waiting != backlog_.end();) {
    const Task task = waiting->task;
    const bool is_stopped = task.run->stopped();
    waiting = is_stopped ? backlog_.erase(waiting) : std::next(waiting);
    if (is_stopped) skip(task);
  }
  const auto going_on = [](const Pending& pending) { return !pending.task.run->stopped(); };
  const auto stopped = std::partition(pending_.begin(), pending_.end(), going_on);
  std::vector<Pending> ended(std::make_move_iterator(stopped),
                             std::make_move_iterator(pending_.end()));
  pending_.erase(stopped, pending_.end());
  std::make_heap(pending_.begin(), pending_.end(), LaterEnd{});
  const std::int64_t now = now_ns();
  for (Pending& pending : ended) {
    pending.span.end_ns = std::max(pending.span.start_ns, std::min(pending.span.end_ns, now));
    end(pending, pending.span.lane);
  }
}

void TimedDevice::park() {
  std::int64_t until_ns = pending_.empty() ? 0 : pending_.front().span.end_ns;
  if (!backlog_.empty()) {
    const Task& task = backlog_.begin()->task;
    const std::int64_t start_ns = next_start_ns(task.run->plan().node(task.node));
    until_ns = until_ns == 0 ? start_ns : std::min(until_ns, start_ns);
  }
  if (next_deadline_ns_ != 0)
    until_ns = until_ns == 0 ? next_deadline_ns_ : std::min(until_ns, next_deadline_ns_);
  const EventCount::Key key = parked_.prepare();
  // seq_cst, both: tested before parking
  if (!inbox_.empty() || kicked_.load(std::memory_order_seq_cst) ||
      stopping_.load(std::memory_order_seq_cst))
    parked_.cancel();
  else
    parked_.wait(key, until_ns);
}

}  // namespace engine
