#include "cpu_device.hpp"

#include <algorithm>

namespace engine {

namespace {

/// One to two microseconds where a pause takes 20-60 ns.
constexpr int lingering_pauses = 32;

}  // namespace

CpuDevice::CpuDevice(std::string name, int lanes, std::uint32_t executor, Machine& machine)
    : Device(std::move(name), lanes),
      machine_(machine),
      executor_(executor),
      alone_(lanes == 1),
      seats_(lanes),
      queue_(executor) {
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
  const std::uint32_t position = task.run->plan().node(task.node).position;
  queue_.push(*task.run, {&position, 1});
  wake(1);
}

DeviceStats CpuDevice::stats() const {
  DeviceStats stats{.executed = 0, .queued = queue_.size_approx()};
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
  // All seats are taken most of the time when there is work.
  const int wanted = std::min(count, seats_.available());
  if (wanted <= 0 || !queue_.maybe_ready()) return;
  const int on_their_way = spinners_.load(std::memory_order_seq_cst) +  // seq_cst: see spin()
                           helpers_parked_.arriving() + workers_parked_.arriving();
  const int sleepers_wanted = wanted - std::max(on_their_way, 0);
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
  do {
    while (may_stay(mine) && queue_.pop(task)) {
      wake(1);
      if (!run_from(lane, task, mine)) return;
    }
  } while (linger(mine));
}

/// Whether a seat holder may take another node.
bool CpuDevice::may_stay(const Run* mine) const noexcept {
  return !(mine != nullptr && mine->done()) && !seats_.gate_closed();
}

/// Waits for nodes with the seat in hand, for a microsecond or two; returns whether there are any.
/// Whoever pushes meanwhile counts on us as on a spinner, and need not wake another thread while
/// we are on our way from the seat to the spinning.
bool CpuDevice::linger(const Run* mine) {
  if (!machine_.spins()) return false;
  // seq_cst, both: as in spin(); whoever counted on us in vain is made up for by leave()
  spinners_.fetch_add(1, std::memory_order_seq_cst);
  bool ready = false;
  for (int i = 0; i < lingering_pauses && !ready && may_stay(mine); ++i) {
    if (machine_.budget().exceeded()) break;
    cpu_relax();
    ready = queue_.maybe_ready();
  }
  spinners_.fetch_sub(1, std::memory_order_seq_cst);
  return ready;
}

/// Runs the task and whatever comes first after it, until the lane makes nothing ready. False: the
/// lane must be left, all nodes are queued.
bool CpuDevice::run_from(Lane& lane, Task task, const Run* mine) {
  for (;;) {
    if (!run_node(lane, task)) return false;
    if (lane.fresh.empty() && lane.kept.empty()) return true;
    if (seats_.gate_closed() || (mine != nullptr && mine != task.run && mine->done())) {
      flush(lane, *task.run);
      return false;
    }
    choose(lane, task);
  }
}

/// Shares the lane's nodes, which are of the task's run, and takes the first of all.
void CpuDevice::choose(Lane& lane, Task& task) {
  Run& run = *task.run;
  if (!queue_.maybe_ready() && (alone_ || lane.fresh.size() == 1)) {
    std::uint32_t position = 0;
    if (alone_) {
      position = lane.kept.pop_first();
    } else {
      position = lane.fresh.front();
      lane.fresh.clear();
    }
    task.node = run.plan().node_at(position);
    return;
  }
  empty_kept(lane);
  const std::size_t shared = lane.fresh.size();
  task = queue_.exchange(run, lane.fresh);
  lane.fresh.clear();
  wake(static_cast<int>(std::max<std::size_t>(shared, 2)) - 1);
}

/// False: the node needs more seats than it may wait for; all nodes are queued again.
bool CpuDevice::run_node(Lane& lane, const Task& task) {
  Run& run = *task.run;
  const PlanNode& node = run.plan().node(task.node);
  if (node.width == 1 || run.should_skip()) {
    complete(lane, run, node, execute(lane, task, node));
    return true;
  }
  const int more_seats = node.width - 1;
  if (!collect_seats(more_seats)) {
    lane.fresh.push_back(node.position);
    flush(lane, run);
    return false;
  }
  const std::int64_t end_ns = execute(lane, task, node);
  give_back_seats(more_seats);
  complete(lane, run, node, end_ns);
  return true;
}

/// Returns when the node ended, or 0 if the run is not traced.
std::int64_t CpuDevice::execute(Lane& lane, const Task& task, const PlanNode& node) {
  Run& run = *task.run;
  const bool skip = run.should_skip();
  const std::int64_t start_ns = run.traced() ? now_ns() : 0;
  if (node.first_input != node.end_input) run.take_inputs(node, lane.values);
  if (!skip) {
    if (node.kernel != nullptr) run.compute(task.node, node, lane.values);
    // relaxed, both: only the holder of the lane writes
    lane.executed.store(lane.executed.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  }
  if (!lane.values.inputs.empty() || !lane.values.outputs.empty())
    run.publish(task.node, node, lane.values);
  if (!run.traced()) return 0;
  const std::int64_t end_ns = now_ns();
  run.trace(task.node, skip ? -1 : lane.id, start_ns, end_ns);
  return end_ns;
}

void CpuDevice::complete(Lane& lane, Run& run, const PlanNode& node, std::int64_t end_ns) {
  const bool traced = run.traced();
  prepare(lane, run);
  run.complete(node, [&](std::uint32_t index, const PlanNode& next) {
    if (traced) run.trace_ready(index, end_ns);
    if (next.executor != executor_)
      lane.elsewhere.emplace_back(next.executor, Task{&run, index, traced ? end_ns : now_ns()});
    else
      keep(lane, next.position);
  });
  // Most urgent first; and after the loop, since the run may end with the last push.
  for (; !lane.elsewhere.empty(); lane.elsewhere.pop_back())
    machine_.executor(lane.elsewhere.back().first).push(lane.elsewhere.back().second);
}

void CpuDevice::flush(Lane& lane, Run& run) {
  empty_kept(lane);
  queue_.push(run, lane.fresh);
  lane.fresh.clear();
}

void CpuDevice::empty_kept(Lane& lane) {
  while (!lane.kept.empty()) lane.fresh.push_back(lane.kept.pop_first());
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
  for (int taken = 0; taken < seats;) taken += await_seats(seats - taken);
  seats_.open_gate();
  wake(lanes());
  return true;
}

/// Behind the gate: takes what is free of `seats`, or waits a while for some; returns how many.
int CpuDevice::await_seats(int seats) {
  for (int i = 0; i < lingering_pauses; ++i) {
    if (const int taken = seats_.take_behind_gate(seats); taken > 0) return taken;
    cpu_relax();  // lanes without work leave at once
  }
  const EventCount::Key key = gate_parked_.prepare();
  const int taken = seats_.take_behind_gate(seats);
  if (taken > 0)
    gate_parked_.cancel();
  else
    gate_parked_.wait(key);
  return taken;
}

}  // namespace engine
