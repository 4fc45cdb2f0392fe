// Long because lanes, helpers and seats take one another's places under one set of invariants.
#include "devices/cpu/cpu_device.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

namespace engine {

namespace {

/// One to two microseconds where a pause takes 20-60 ns.
constexpr int lingering_pauses = 32;

/// Lets the calling thread run where no other wants to; where that is refused, at the lowest
/// weight.
void run_when_idle() noexcept {
  const sched_param param{};
  if (sched_setscheduler(0, SCHED_IDLE, &param) != 0)
    static_cast<void>(setpriority(PRIO_PROCESS, 0, 19));  // of this thread, on Linux
}

/// Whether a caller who helps is done; nobody else is.
bool has_answer(const Run* mine) noexcept { return mine != nullptr && mine->done(); }

}  // namespace

CpuDevice::CpuDevice(std::string name, int lanes, std::uint32_t executor, Machine& machine,
                     bool has_helpers, bool is_idle)
    : Device(std::move(name), lanes),
      machine_(machine),
      executor_(executor),
      alone_(lanes == 1),
      has_helpers_(has_helpers),
      is_idle_(is_idle),
      seats_(lanes),
      queue_(executor, &seats_) {
  for (int id = 0; id < lanes; ++id) {
    by_id_.push_back(std::make_unique<Lane>());
    by_id_.back()->id = id;
  }
}

void CpuDevice::start() {
  for (int i = 0; i < lanes(); ++i)
    workers_.emplace_back([this] {
      if (is_idle_) run_when_idle();
      serve(nullptr);
    });
}

CpuDevice& CpuDevice::idle_lanes() {
  // acquire: who sees it sees it begun
  if (CpuDevice* const idle = idle_shown_.load(std::memory_order_acquire)) return *idle;
  const std::lock_guard lock(idle_mutex_);
  if (idle_ == nullptr) {
    idle_ = std::make_unique<CpuDevice>(name(), lanes(), executor_, machine_, false, true);
    idle_->start();
    idle_shown_.store(idle_.get(), std::memory_order_release);  // release: see above
  }
  return *idle_;
}

void CpuDevice::stop() noexcept {
  {
    const std::lock_guard lock(idle_mutex_);
    if (idle_ != nullptr) idle_->stop();
  }
  stopping_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for parked threads
  workers_parked_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void CpuDevice::push(const Task& task) {
  if (!is_idle_ && task.run->order().is_best_effort()) return idle_lanes().push(task);
  const std::uint32_t position = task.run->plan().node(task.node).position;
  ParkedHelpers helpers(has_helpers_ ? task.run : nullptr);
  queue_.push(*task.run, {&position, 1});
  wake(1, &helpers);
}

DeviceStats CpuDevice::stats() const {
  // relaxed, all: statistics
  DeviceStats stats{.executed = 0,
                    .queued = queue_.size_approx(),
                    .helper_wakes = helper_wakes_.load(std::memory_order_relaxed)};
  for (const auto& lane : by_id_) stats.executed += lane->executed.load(std::memory_order_relaxed);
  // acquire: as in idle_lanes()
  if (const CpuDevice* const idle = idle_shown_.load(std::memory_order_acquire)) {
    const DeviceStats more = idle->stats();
    stats.executed += more.executed;
    stats.queued += more.queued;
  }
  return stats;
}

void CpuDevice::help(Run& run) {
  serve(&run);
  wake(1);  // we may have been woken for a node that we now leave
}

void CpuDevice::serve(Run* mine) {
  while (!is_over(mine)) {
    Lane* lane = nullptr;
    if (is_wanted(mine)) {
      if (mine == nullptr && spread_.is_crowded()) spread_.move_away();
      lane = try_sit(mine, queue_.seats_needed());
    }
    if (lane == nullptr) {
      idle(mine);
      continue;
    }
    drive(*lane);
    leave(*lane);
  }
}

void CpuDevice::idle(Run* mine) {
  if (spin(mine)) return;
  if (mine != nullptr) wake(1);  // what was pushed while we spun may be for others
  EventCount& event = mine != nullptr ? mine->helpers() : workers_parked_;
  const EventCount::Key key = event.prepare();
  if (is_wanted(mine)) return event.cancel();
  event.wait(key);
  if (mine != nullptr) helper_wakes_.fetch_add(1, std::memory_order_relaxed);  // a statistic
}

bool CpuDevice::spin(Run* mine) {
  if (is_idle_) return false;
  // Whoever spins on the CPU of a seat holder takes its time away.
  if (mine == nullptr && spread_.is_crowded() && !spread_.move_away()) return false;
  std::atomic<int>& spinners = mine != nullptr ? spinning_helpers_ : spinning_workers_;
  // seq_cst, both: a pusher that counts on us is seen by our next test of the queue
  spinners.fetch_add(1, std::memory_order_seq_cst);
  const bool wanted = machine_.spin_until([&] { return is_wanted(mine); });
  spinners.fetch_sub(1, std::memory_order_seq_cst);
  return wanted;
}

/// Whether a worker has to end, or who helps `mine` has its answer.
bool CpuDevice::is_over(const Run* mine) const noexcept {
  // seq_cst: see stop()
  return mine != nullptr ? mine->done() : stopping_.load(std::memory_order_seq_cst);
}

/// Whether a thread without a seat has something to do. A helper wakes a worker for what it may
/// not take itself.
bool CpuDevice::is_wanted(const Run* mine) {
  if (is_over(mine)) return true;
  if (!has_work()) return false;
  if (mine == nullptr || queue_.first_run() == mine) return true;
  if (workers_coming() > 0) return false;
  if (queue_.suits(*mine)) return true;
  workers_parked_.notify(1);
  return false;
}

/// Whether there are nodes, and seats for the first of them.
bool CpuDevice::has_work() const noexcept {
  return queue_.maybe_ready() && seats_.table.available() >= queue_.seats_needed();
}

int CpuDevice::workers_coming() const noexcept {
  return spinning_workers_.load(std::memory_order_seq_cst) +  // seq_cst: see spin()
         std::max(workers_parked_.arriving(), 0);
}

/// Makes sure that threads come for up to `count` nodes; `helpers` are those of their run.
void CpuDevice::wake(int count, ParkedHelpers* helpers) {
  // All seats are taken most of the time when there is work.
  const int seats = seats_.table.available() - queue_.seats_needed() + 1;
  int missing = std::min(count, seats);
  if (missing <= 0 || !queue_.maybe_ready()) return;
  missing -= workers_coming() + spinning_helpers_.load(std::memory_order_seq_cst);  // see spin()
  if (missing > 0 && helpers != nullptr) missing -= helpers->wake(missing);
  if (missing > 0) workers_parked_.notify(missing);
}

CpuDevice::Lane* CpuDevice::try_sit(const Run* mine, int seats) {
  if (!seats_.table.try_take(seats)) return nullptr;
  machine_.budget().add_running(seats);
  Lane& lane = *by_id_[static_cast<std::size_t>(seats_.table.take_id())];
  lane.taker = {mine, seats};
  lane.cpu = spread_.sit();
  return &lane;
}

void CpuDevice::leave(Lane& lane) {
  const int seats = lane.taker.seats;  // the lane is its next holder's as soon as its id is back
  spread_.leave(lane.cpu);
  seats_.table.give_back_id(lane.id);
  give_back_seats(seats);
}

/// Gives back what the lane holds beyond `seats`.
void CpuDevice::keep_seats(Lane& lane, int seats) {
  const int more = lane.taker.seats - seats;
  if (more <= 0) return;
  lane.taker.seats = seats;
  give_back_seats(more);
}

/// Of a lane that held `before` when it took the task.
void CpuDevice::fit_seats(Lane& lane, int before, const Task& task) {
  machine_.budget().add_running(lane.taker.seats - before);
  keep_seats(lane, task.run->plan().node(task.node).width);
}

void CpuDevice::give_back_seats(int seats) {
  machine_.budget().remove_running(seats);
  seats_.table.give_back(seats);
  look_behind_wide();
  wake(seats);
}

/// If a wide node waits: who may start before it depends on free seats and on what the lanes do.
bool CpuDevice::look_behind_wide() {
  const int free = seats_.table.available();
  if (free == 0 || free >= queue_.seats_needed()) return false;
  queue_.look_again();
  return true;
}

void CpuDevice::drive(Lane& lane) {
  Task task;
  do {
    while (!has_answer(lane.taker.helps)) {
      if (!take(lane, task)) {
        if (queue_.maybe_ready()) return;  // what there is is not for this lane
        break;
      }
      if (!run_from(lane, task)) return;
    }
  } while (linger(lane));
}

/// False: there is nothing for this lane, which must be left.
bool CpuDevice::take(Lane& lane, Task& task) {
  const int before = lane.taker.seats;
  if (!queue_.pop(task, lane.taker)) return false;
  if (lane.taker.seats != 1) fit_seats(lane, before, task);
  wake(1);
  return true;
}

/// Waits for nodes with the seat in hand, for a microsecond or two; returns whether there are any.
/// Whoever pushes meanwhile counts on us as on a spinner, and need not wake another thread while
/// we are on our way from the seat to the spinning.
bool CpuDevice::linger(const Lane& lane) {
  if (is_idle_ || !machine_.spins()) return false;
  const Run* const mine = lane.taker.helps;
  std::atomic<int>& spinners = mine != nullptr ? spinning_helpers_ : spinning_workers_;
  // seq_cst, both: as in spin(); whoever counted on us in vain is made up for by leave()
  spinners.fetch_add(1, std::memory_order_seq_cst);
  bool ready = false;
  for (int i = 0; i < lingering_pauses && !ready && !has_answer(mine); ++i) {
    if (machine_.budget().exceeded()) break;
    cpu_relax();
    ready = queue_.maybe_ready();
  }
  spinners.fetch_sub(1, std::memory_order_seq_cst);
  return ready;
}

/// Runs the task and whatever comes first after it, until the lane makes nothing ready. False: the
/// lane must be left, all nodes are queued.
bool CpuDevice::run_from(Lane& lane, Task task) {
  for (;;) {
    run_node(lane, task);
    if (lane.fresh.empty() && lane.kept.empty()) return true;
    if (lane.taker.helps != task.run && has_answer(lane.taker.helps)) {
      flush(lane, *task.run);
      return false;
    }
    if (!choose(lane, task)) return false;
  }
}

/// Whether the first of all is the only node that the lane made ready, or one that it keeps.
inline bool CpuDevice::passes_queue_by(const Lane& lane, const Run& run) const {
  const Run* const mine = lane.taker.helps;
  if (queue_.maybe_ready() || (mine != nullptr && mine != &run)) return false;
  if (alone_) return true;
  return lane.fresh.size() == 1 &&
         run.plan().node(run.plan().node_at(lane.fresh.front())).width == 1;
}

/// Shares the lane's nodes, which are of the task's run, and takes the first of all. False: there
/// is none for this lane.
bool CpuDevice::choose(Lane& lane, Task& task) {
  Run& run = *task.run;
  if (passes_queue_by(lane, run)) {
    std::uint32_t position = 0;
    if (alone_) {
      position = lane.kept.pop_first();
    } else {
      position = lane.fresh.front();
      lane.fresh.clear();
    }
    task.node = run.plan().node_at(position);
    return true;
  }
  empty_kept(lane);
  const auto shared = static_cast<int>(lane.fresh.size());
  const int before = lane.taker.seats;
  ParkedHelpers helpers(has_helpers_ ? &run : nullptr);
  const bool found = queue_.exchange(run, lane.fresh, task, lane.taker);
  lane.fresh.clear();
  if (found && lane.taker.seats != 1) fit_seats(lane, before, task);
  wake(found ? std::max(shared - 1, 1) : shared, &helpers);
  return found;
}

/// The lane holds as many seats as the node needs, or its run was stopped.
void CpuDevice::run_node(Lane& lane, const Task& task) {
  Run& run = *task.run;
  const PlanNode& node = run.plan().node(task.node);
  const bool is_forecast = !alone_ && node.service_ns > 0 && machine_.forecasts_lanes();
  if (is_forecast) forecast(lane, now_ns() + node.service_ns);
  const std::int64_t end_ns = execute(lane, task, node);
  if (is_forecast) seats_.forecast.end(lane.id);
  if (lane.taker.seats != 1) keep_seats(lane, 1);
  complete(lane, run, node, end_ns);
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

void CpuDevice::forecast(const Lane& lane, std::int64_t end_ns) {
  seats_.forecast.begin(lane.id, lane.taker.seats, end_ns);
  if (look_behind_wide()) wake(1);
}

void CpuDevice::complete(Lane& lane, Run& run, const PlanNode& node, std::int64_t end_ns) {
  const bool traced = run.traced();
  prepare(lane, run);
  run.complete(node, [&](std::uint32_t index, const PlanNode& next) {
    if (traced) run.trace_ready(index, end_ns);
    if (next.executor != executor_)
      lane.elsewhere.note(next.executor, {&run, index, traced ? end_ns : now_ns()});
    else
      keep(lane, next.position);
  });
  lane.elsewhere.hand_on(machine_);
}

void CpuDevice::flush(Lane& lane, Run& run) {
  empty_kept(lane);
  queue_.push(run, lane.fresh);
  lane.fresh.clear();
}

void CpuDevice::empty_kept(Lane& lane) {
  while (!lane.kept.empty()) lane.fresh.push_back(lane.kept.pop_first());
}

}  // namespace engine
