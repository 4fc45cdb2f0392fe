// Long because lanes, helpers and seats take one another's places under one set of invariants.
#include "devices/cpu/cpu_device.hpp"

#include <algorithm>

#include "devices/cpu/thread_weight.hpp"

namespace engine {

namespace {

/// One to two microseconds where a pause takes 20-60 ns.
constexpr int lingering_pauses = 32;
/// How many runs may make way for others at once, a lane.
constexpr int places_a_lane = 4;

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
  const int places = is_idle ? 0 : places_a_lane * lanes;
  for (int id = 0; id < lanes + places; ++id) {
    by_id_.push_back(std::make_unique<Lane>());
    by_id_.back()->id = by_id_.back()->shown_id = id;
    const RingKind kind =
        is_idle ? RingKind::best_effort : (id < lanes ? RingKind::lane : RingKind::borrowed);
    by_id_.back()->flights = &machine.recorder().add_ring(executor, kind, id < lanes ? id : -1);
    if (id >= lanes) free_places_.push_back(by_id_.back().get());
  }
  vacancies_.reserve(by_id_.size() + static_cast<std::size_t>(lanes));
}

void CpuDevice::start() {
  const std::lock_guard lock(threads_mutex_);
  for (int i = 0; i < lanes(); ++i)
    workers_.emplace_back([this] {
      if (is_idle_) run_when_idle();
      while (!is_over(nullptr)) serve(nullptr);
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
  borrowers_parked_.notify_all();
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(threads_mutex_);
    threads.swap(workers_);
  }
  for (std::thread& thread : threads) thread.join();
  give_back_rows();
}

void CpuDevice::push(const Task& task) {
  if (!is_idle_ && task.run->order().is_best_effort()) return idle_lanes().push(task);
  // relaxed, both: a flag that is set once. Best effort makes way as it is.
  if (!is_idle_ && !lends_.load(std::memory_order_relaxed) && task.run->order().is_of_rank())
    lends_.store(true, std::memory_order_relaxed);
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

void CpuDevice::help(Run& run, std::int64_t until_ns) {
  while (!is_over(&run)) {
    serve(&run, until_ns);
    if (until_ns != 0 && now_ns() >= until_ns) break;
  }
  wake(1);  // we may have been woken for a node that we now leave
}

/// Takes a seat and drives its lane, or waits for nodes; `mine` is the run that it helps, if any.
void CpuDevice::serve(Run* mine, std::int64_t until_ns) {
  Lane* lane = nullptr;
  if (is_wanted(mine)) {
    if (mine == nullptr && spread_.is_crowded()) spread_.move_away();
    lane = try_sit(mine, queue_.seats_needed());
  }
  if (lane == nullptr) return idle(mine, until_ns);
  if (drive(*lane) != Left::gone) leave(*lane);
}

void CpuDevice::idle(Run* mine, std::int64_t until_ns) {
  std::int64_t since_ns = machine_.spins() ? now_ns() : 0;
  // relaxed: advice
  if (mine == nullptr) idle_since_ns_.store(since_ns, std::memory_order_relaxed);
  if (spin(mine)) return;
  if (mine != nullptr) wake(1);  // what was pushed while we spun may be for others
  EventCount& event = mine != nullptr ? mine->helpers() : workers_parked_;
  const EventCount::Key key = event.prepare();
  if (is_wanted(mine)) return event.cancel();
  event.wait(key, until_ns);
  // Which of the workers is woken is chance: as long would a spinning one have waited. relaxed:
  // advice
  if (mine == nullptr) since_ns = idle_since_ns_.load(std::memory_order_relaxed);
  machine_.waited(habit(mine), since_ns);
  if (mine != nullptr) helper_wakes_.fetch_add(1, std::memory_order_relaxed);  // a statistic
}

bool CpuDevice::spin(Run* mine) {
  if (is_idle_) return false;
  // Whoever spins on the CPU of a seat holder takes its time away.
  if (mine == nullptr && spread_.is_crowded() && !spread_.move_away()) return false;
  std::atomic<int>& spinners = mine != nullptr ? spinning_helpers_ : spinning_workers_;
  // seq_cst, both: a pusher that counts on us is seen by our next test of the queue
  spinners.fetch_add(1, std::memory_order_seq_cst);
  const bool wanted = machine_.spin_until(habit(mine), [&] { return is_wanted(mine); });
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
  if (missing <= 0) return lend();
  if (!queue_.maybe_ready()) return;
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

CpuDevice::Left CpuDevice::drive(Lane& lane) {
  Task task;
  do {
    while (!has_answer(lane.taker.helps)) {
      if (!take(lane, task)) {
        if (queue_.maybe_ready()) return Left::by_itself;  // what there is is not for this lane
        break;
      }
      if (const Left left = run_from(lane, task); left != Left::nothing) return left;
    }
  } while (linger(lane));
  return Left::by_itself;
}

/// False: there is nothing for this lane, which must be left.
bool CpuDevice::take(Lane& lane, Task& task) {
  const int before = lane.taker.seats;
  const bool found = queue_.pop(task, lane.taker);
  if (lane.is_coming) [[unlikely]]
    arrived(lane);
  if (!found) return false;
  if (lane.taker.seats != 1) fit_seats(lane, before, task);
  wake(1);
  return true;
}

/// Waits for nodes with the seat in hand, for a microsecond or two; returns whether there are any.
/// Whoever pushes meanwhile counts on us as on a spinner, and need not wake another thread while
/// we are on our way from the seat to the spinning.
bool CpuDevice::linger(const Lane& lane) {
  if (is_idle_ || lane.lender != nullptr || !machine_.spins()) return false;
  const Run* const mine = lane.taker.helps;
  std::atomic<int>& spinners = mine != nullptr ? spinning_helpers_ : spinning_workers_;
  // seq_cst, both: as in spin(); whoever counted on us in vain is made up for by leave()
  spinners.fetch_add(1, std::memory_order_seq_cst);
  bool ready = false;
  for (int i = 0; i < lingering_pauses && !ready && !has_answer(mine); ++i) {
    if (machine_.is_crowded()) break;
    cpu_relax();
    ready = queue_.maybe_ready();
  }
  spinners.fetch_sub(1, std::memory_order_seq_cst);
  return ready;
}

/// Runs the task and whatever comes first after it, until the lane makes nothing ready. When it is
/// to leave, all nodes are queued.
CpuDevice::Left CpuDevice::run_from(Lane& lane, Task task) {
  for (;;) {
    if (const Left left = run_node(lane, task); left != Left::nothing) return left;
    if (lane.fresh.empty() && lane.kept.empty()) return Left::nothing;
    if (lane.taker.helps != task.run && has_answer(lane.taker.helps)) {
      flush(lane, *task.run);
      return Left::by_itself;
    }
    if (!choose(lane, task)) return Left::by_itself;
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

/// Short nodes pay nothing, nor does any while there is no other process.
inline bool CpuDevice::is_leased(std::int64_t service_ns) const noexcept {
  return service_ns >= broker::Broker::worth_leasing_ns && machine_.broker().is_shared();
}

/// The lane holds as many seats as the node needs, or its run was stopped.
CpuDevice::Left CpuDevice::run_node(Lane& lane, const Task& task) {
  Run& run = *task.run;
  const PlanNode& node = run.plan().node(task.node);
  const Stacking* const stacking = run.plan().stacking();
  const bool is_stack = (stacking != nullptr || run.call() != 0) && gather(lane, run, stacking);
  const std::int64_t service_ns = is_stack ? lane.stack.takes_ns() : node.service_ns;
  const bool leases = is_leased(service_ns);
  const bool lends = is_lendable(lane, service_ns, leases);
  const bool is_forecast =
      !alone_ && lane.lender == nullptr && service_ns > 0 && machine_.forecasts_lanes();
  const std::int64_t predicted_ns = lends || is_forecast ? now_ns() + service_ns : 0;
  if (is_forecast) forecast(lane, predicted_ns);
  if (lends) lane.loan.begin(run.order(), predicted_ns);
  if (leases) [[unlikely]]
    lease(lane, task, service_ns, lends);
  const bool is_measured = run.plan().measures(node);
  const std::int64_t began_ns = is_measured ? now_ns() : 0;
  const std::int64_t had_ns = is_measured && lends ? thread_cpu_ns() : 0;
  const std::int64_t expected_ns = is_measured ? run.begin_node(task.node, node, began_ns) : 0;
  const std::int64_t end_ns =
      is_stack ? execute_stack(lane, task, node) : execute(lane, task, node);
  const bool shared =
      lane.lender != nullptr || lane.loan.was_lent() || (leases && machine_.is_crowded());
  if (is_measured) {
    run.end_node(node, expected_ns, began_ns);
    if (!is_stack)
      note_time(run, task.node, began_ns, shared ? std::optional(had_ns) : std::nullopt);
  }
  if (leases) [[unlikely]]
    machine_.broker().end(lane.row);
  if (is_forecast) seats_.forecast.end(lane.id);
  if (lane.taker.seats != 1) keep_seats(lane, 1);
  if (lends && !lane.loan.try_end()) return hand_over(lane, run, node, end_ns);
  complete(lane, run, node, end_ns);
  return Left::nothing;
}

/// Returns when the node ended, or 0 if nobody wants to know.
std::int64_t CpuDevice::execute(Lane& lane, const Task& task, const PlanNode& node) {
  Run& run = *task.run;
  const bool skip = run.should_skip();
  const std::int64_t start_ns = run.is_timed() ? now_ns() : 0;
  if (node.first_input != node.end_input) run.take_inputs(node, lane.values);
  if (!skip) {
    if (node.kernel != nullptr) run.compute(task.node, node, lane.values);
    // relaxed, both: only the holder of the lane writes
    lane.executed.store(lane.executed.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  }
  if (!lane.values.inputs.empty() || !lane.values.outputs.empty())
    run.publish(task.node, node, lane.values);
  if (!run.is_timed()) return 0;
  const std::int64_t end_ns = now_ns();
  run.trace(task.node, skip ? -1 : lane.shown_id, start_ns, end_ns, lane.flights);
  return end_ns;
}

/// What others took of its core meanwhile is not its time: they are in the outlook by themselves.
/// `had_ns` is what the thread had had of cores when it began a node that shared one, 0 if that is
/// not known.
void CpuDevice::note_time(Run& run, std::uint32_t node, std::int64_t began_ns,
                          std::optional<std::int64_t> had_ns) const {
  if (is_idle_ || run.stopped()) return;
  std::int64_t took_ns = now_ns() - began_ns;
  if (had_ns) {
    const std::int64_t least_ns = took_ns / 8;
    if (*had_ns == 0 || (took_ns = thread_cpu_ns() - *had_ns) < least_ns) return;  // or elsewhere
  }
  run.plan().times().note(node, took_ns);
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
