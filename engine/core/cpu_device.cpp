#include "cpu_device.hpp"

#include <algorithm>

namespace engine {

CpuDevice::CpuDevice(std::string name, int lanes, Machine& machine)
    : Device(std::move(name), lanes), machine_(machine), seats_(lanes) {
  for (int id = 0; id < lanes; ++id) {
    by_id_.push_back(std::make_unique<Lane>());
    by_id_.back()->id = id;
  }
}

void CpuDevice::start() {
  for (int i = 0; i < lanes(); ++i) workers_.emplace_back([this] { serve(nullptr); });
}

void CpuDevice::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for parked threads
  workers_parked_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void CpuDevice::push(const Task& task) {
  queue_.push(task);
  wake(1);
}

DeviceStats CpuDevice::stats() const {
  DeviceStats stats{.executed = 0, .spilled = queue_.spilled(), .queued = queue_.size_approx()};
  // relaxed: a statistic
  for (const auto& lane : by_id_) stats.executed += lane->executed.load(std::memory_order_relaxed);
  return stats;
}

void CpuDevice::help(Run& run) {
  serve(&run);
  wake(1);  // we may have been woken for a node that we now leave
}

void CpuDevice::serve(Run* mine) {
  // acquire: nothing but the flag is read
  while (mine != nullptr ? !mine->done() : !stopping_.load(std::memory_order_acquire)) {
    Lane* lane = nullptr;
    if (queue_.maybe_ready()) {
      if (mine == nullptr && spread_.is_crowded()) spread_.move_away();
      lane = try_sit();
    }
    if (lane == nullptr) {
      idle(mine);
      continue;
    }
    drive(*lane, mine);
    leave(*lane);
  }
}

void CpuDevice::idle(Run* mine) {
  if (spin(mine)) return;
  EventCount& event = mine != nullptr ? helpers_parked_ : workers_parked_;
  if (mine != nullptr) mine->set_helper_event(&event);
  const EventCount::Key key = event.prepare();
  if (is_wanted(mine))
    event.cancel();
  else
    event.wait(key);
}

bool CpuDevice::spin(const Run* mine) {
  // Whoever spins on the CPU of a seat holder takes its time away.
  if (mine == nullptr && spread_.is_crowded() && !spread_.move_away()) return false;
  // seq_cst, both: a pusher that counts on us is seen by our next test of the queue
  spinners_.fetch_add(1, std::memory_order_seq_cst);
  const bool wanted = machine_.spin_until([&] { return is_wanted(mine); });
  spinners_.fetch_sub(1, std::memory_order_seq_cst);
  return wanted;
}

bool CpuDevice::is_wanted(const Run* mine) const noexcept {
  if (mine != nullptr ? mine->done()
                      : stopping_.load(std::memory_order_seq_cst))  // seq_cst: see stop()
    return true;
  return queue_.maybe_ready() && seats_.available() > 0;
}

void CpuDevice::wake(int count) {
  if (!queue_.maybe_ready()) return;
  const int on_their_way = spinners_.load(std::memory_order_seq_cst) +  // seq_cst: see spin()
                           helpers_parked_.arriving() + workers_parked_.arriving();
  const int sleepers_wanted = std::min(count, seats_.available()) - std::max(on_their_way, 0);
  if (sleepers_wanted <= 0) return;
  const int woken = helpers_parked_.notify(sleepers_wanted);
  if (woken < sleepers_wanted) workers_parked_.notify(sleepers_wanted - woken);
}

CpuDevice::Lane* CpuDevice::try_sit() {
  if (!seats_.try_take(1)) return nullptr;
  machine_.budget().add_running(1);
  Lane& lane = *by_id_[static_cast<std::size_t>(seats_.take_id())];
  lane.cpu = spread_.sit();
  return &lane;
}

void CpuDevice::leave(Lane& lane) {
  spread_.leave(lane.cpu);
  seats_.give_back_id(lane.id);
  give_back_seats(1);
}

void CpuDevice::give_back_seats(int seats) {
  machine_.budget().remove_running(seats);
  if (seats_.give_back(seats)) gate_parked_.notify(1);
  wake(seats);
}

void CpuDevice::drive(Lane& lane, Run* mine) {
  Task task;
  while (!(mine != nullptr && mine->done()) && !seats_.gate_closed() && queue_.pop(task)) {
    wake(1);
    lane.local.push(task.node, 0);
    if (!run_local(lane, *task.run, mine)) return;
  }
}

/// Runs the lane's nodes; they are `first`'s. False: the lane must be left, all nodes are queued.
bool CpuDevice::run_local(Lane& lane, Run& first, const Run* mine) {
  Run* run = &first;
  while (!lane.local.empty()) {
    if (seats_.gate_closed() || (mine != nullptr && mine != run && mine->done())) {
      flush(lane, *run);
      return false;
    }
    const std::uint32_t urgency = run->class_of(run->plan().node(lane.local.top()));
    Task task;
    if (queue_.has_more_urgent(urgency) && queue_.pop(task, urgency)) {
      flush(lane, *run);
      run = task.run;
      lane.local.push(task.node, 0);
    }
    const std::uint32_t index = lane.local.pop();
    if (lanes() > 1 && !lane.local.empty()) share(lane, *run);
    if (!run_node(lane, *run, index)) return false;
  }
  return true;
}

/// False: the node needs more seats than it may wait for; all nodes are queued again.
bool CpuDevice::run_node(Lane& lane, Run& run, std::uint32_t index) {
  const PlanNode& node = run.plan().node(index);
  if (node.width == 1 || run.should_skip()) {
    execute(lane, run, index, node);
    complete(lane, run, node);
    return true;
  }
  const int more_seats = node.width - 1;
  if (!collect_seats(more_seats)) {
    enqueue(run, index);
    flush(lane, run);
    return false;
  }
  execute(lane, run, index, node);
  give_back_seats(more_seats);
  complete(lane, run, node);
  return true;
}

void CpuDevice::execute(Lane& lane, Run& run, std::uint32_t index, const PlanNode& node) {
  const bool skip = run.should_skip();
  const std::int64_t start_ns = run.traced() ? now_ns() : 0;
  if (node.first_input != node.end_input) run.take_inputs(node, lane.values);
  if (!skip) {
    if (node.kernel != nullptr) run.compute(index, node, lane.values);
    // relaxed, both: only the holder of the lane writes
    lane.executed.store(lane.executed.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  }
  if (!lane.values.inputs.empty() || !lane.values.outputs.empty())
    run.publish(index, node, lane.values);
  if (run.traced()) run.trace(index, skip ? -1 : lane.id, start_ns, now_ns());
}

void CpuDevice::complete(Lane& lane, Run& run, const PlanNode& node) {
  const bool traced = run.traced();
  const std::int64_t traced_ns = traced ? now_ns() : 0;
  const std::uint32_t here = node.executor;
  run.complete(node, [&](std::uint32_t index, const PlanNode& next) {
    if (traced) run.trace_ready(index, traced_ns);
    if (next.executor == here) {
      lane.local.push(index, next.bucket);
      return;
    }
    const std::int64_t ready_ns = traced ? traced_ns : now_ns();
    lane.elsewhere.emplace_back(next.executor, Task{&run, index, run.class_of(next), ready_ns});
  });
  // Most urgent first; and after the loop, since the run may end with the last push.
  for (; !lane.elsewhere.empty(); lane.elsewhere.pop_back())
    machine_.executor(lane.elsewhere.back().first).push(lane.elsewhere.back().second);
}

/// Shows the lane's nodes to the other lanes, as far as the queue has room without spilling.
void CpuDevice::share(Lane& lane, Run& run) {
  int shared = 0;
  while (!lane.local.empty()) {
    const std::uint32_t index = lane.local.top();
    if (queue_.room(run.class_of(run.plan().node(index))) == 0) break;
    static_cast<void>(lane.local.pop());
    enqueue(run, index);
    ++shared;
  }
  if (shared > 0) wake(shared);
}

void CpuDevice::flush(Lane& lane, Run& run) {
  while (!lane.local.empty()) enqueue(run, lane.local.pop());
}

void CpuDevice::enqueue(Run& run, std::uint32_t index) {
  queue_.push({&run, index, run.class_of(run.plan().node(index)), 0});
}

/// For a wide node. Takes what is free; if that is too little, closes the gate, so that no lane
/// starts another node, and waits for lanes to be left. False if another wide node does that:
/// then the caller must leave its own lane, or the two would wait for each other.
bool CpuDevice::collect_seats(int seats) {
  machine_.budget().add_running(seats);
  if (seats_.try_take(seats)) return true;
  if (!seats_.try_close_gate()) {
    machine_.budget().remove_running(seats);
    return false;
  }
  for (int taken = 0; taken < seats;) {
    const EventCount::Key key = gate_parked_.prepare();
    const int more = seats_.take_behind_gate(seats - taken);
    taken += more;
    if (more > 0)
      gate_parked_.cancel();
    else
      gate_parked_.wait(key);
  }
  seats_.open_gate();
  wake(lanes());
  return true;
}

}  // namespace engine
