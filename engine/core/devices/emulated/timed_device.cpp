#include "devices/emulated/timed_device.hpp"

#include <sys/prctl.h>

#include <algorithm>

namespace engine {

TimedDevice::TimedDevice(std::string name, int lanes, std::uint32_t executor, Machine& machine)
    : Device(std::move(name), lanes), executor_(executor), machine_(machine) {}

void TimedDevice::start() {
  thread_ = std::thread([this] { work(); });
}

void TimedDevice::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  parked_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TimedDevice::push(const Task& task) { push_all({&task, 1}); }

void TimedDevice::push_all(std::span<const Task> tasks) {
  inbox_.push_all(tasks);
  parked_.notify(1);
}

void TimedDevice::kick() noexcept {
  kicked_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  parked_.notify(1);
}

DeviceStats TimedDevice::stats() const {
  // relaxed, both: statistics
  return {.executed = executed_.load(std::memory_order_relaxed),
          .queued = inbox_.size() + waiting_.load(std::memory_order_relaxed)};
}

void TimedDevice::work() {
  prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would delay every completion
  while (!stopping_.load(std::memory_order_seq_cst)) {  // seq_cst: tested before parking
    if (!step()) park();
  }
}

/// Plays one moment; false if none is due.
bool TimedDevice::step() {
  drain();
  if (kicked_.exchange(false, std::memory_order_seq_cst)) {  // seq_cst: see kick()
    end_stopped();
    settle();
    arrived_ns_ = std::min(arrived_ns_, now_ns());  // lanes are free
  }
  if (next_deadline_ns_ != 0 && now_ns() >= next_deadline_ns_) end_late();
  const std::int64_t next_ns = std::min(arrived_ns_, next_event_ns());
  const bool is_due = next_ns != never_ns && next_ns <= now_ns();
  if (is_due) {
    arrived_ns_ = never_ns;
    happen(next_ns);
  }
  waiting_.store(waiting(), std::memory_order_relaxed);  // relaxed: a statistic
  return is_due;
}

/// Everything that has come is seen at once: what is urgent overtakes what came before it.
void TimedDevice::drain() {
  inbox_.take_all(drained_);
  for (const Task& task : drained_) {
    arrived_ns_ = std::min(arrived_ns_, task.ready_ns);
    arrivals_.push_back(task);
  }
  settle();
}

void TimedDevice::settle() {
  // By index and without recursion: skipping a node makes the next ones ready.
  for (std::size_t i = 0; i < arrivals_.size(); ++i) {
    const Task task = arrivals_[i];
    watch(*task.run);
    if (task.run->should_skip())
      skip(task);
    else
      arrive(task);
  }
  arrivals_.clear();
}

void TimedDevice::skip(const Task& task) {
  const std::int64_t now = now_ns();
  TimedWork work{.task = task, .start_ns = now, .end_ns = now};
  task.run->take_inputs(task.run->plan().node(task.node), work.values);
  end(work, -1);
}

void TimedDevice::end(TimedWork& work, int lane) {
  Run& run = *work.task.run;
  const std::uint32_t index = work.task.node;
  const PlanNode& node = run.plan().node(index);
  const std::int64_t end_ns = work.end_ns;
  run.publish(index, node, work.values);
  if (run.is_timed()) run.trace(index, lane, work.start_ns, end_ns);
  made_ready_.complete(run, node, end_ns);
  made_ready_.hand_on(machine_, [this](std::uint32_t executor, const Task& task) {
    if (executor != executor_) return false;
    arrivals_.push_back(task);
    return true;
  });
}

void TimedDevice::watch(const Run& run) noexcept {
  const std::int64_t deadline_ns = run.deadline_ns();
  if (deadline_ns != 0 && (next_deadline_ns_ == 0 || deadline_ns < next_deadline_ns_))
    next_deadline_ns_ = deadline_ns;
}

/// Stops the runs held here whose deadline passed, and finds the next deadline.
void TimedDevice::end_late() {
  next_deadline_ns_ = 0;
  check_runs();
  end_stopped();
  settle();
  arrived_ns_ = std::min(arrived_ns_, now_ns());  // lanes are free
}

void TimedDevice::park() {
  std::int64_t until_ns = std::min(arrived_ns_, next_event_ns());
  if (next_deadline_ns_ != 0) until_ns = std::min(until_ns, next_deadline_ns_);
  const EventCount::Key key = parked_.prepare();
  // seq_cst, both: tested before parking
  if (!inbox_.empty() || kicked_.load(std::memory_order_seq_cst) ||
      stopping_.load(std::memory_order_seq_cst))
    parked_.cancel();
  else
    parked_.wait(key, until_ns == never_ns ? 0 : until_ns);
}

}  // namespace engine
