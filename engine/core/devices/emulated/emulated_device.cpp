// Long because launches, copies and lanes are events of one clock.
#include "devices/emulated/emulated_device.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "devices/emulated/emulated_kernel.hpp"

namespace engine {

EmulatedDevice::EmulatedDevice(const DeviceParams& params, std::vector<LinkParams> links,
                               std::uint32_t executor, Machine& machine)
    : TimedDevice(params.name, params.lanes, executor, machine),
      params_(params.get<EmulatedParams>()),
      memory_bytes_(params.memory_bytes),
      links_(links.begin(), links.end()),
      lanes_(static_cast<std::size_t>(params.lanes)) {}

std::shared_ptr<const Kernel> EmulatedDevice::prepare(std::shared_ptr<const Kernel> kernel,
                                                      std::uint32_t) {
  if (params_.fail_prepare)
    throw std::runtime_error("emulated device '" + name() + "' refuses the segment (fail_prepare)");
  return std::make_shared<EmulatedKernel>(std::move(kernel), params_.replay);
}

std::shared_ptr<const Kernel> EmulatedDevice::capture(std::shared_ptr<const Kernel> prepared,
                                                      std::uint32_t) {
  if (params_.fail_capture)
    throw std::runtime_error("emulated device '" + name() + "' captures no graphs (fail_capture)");
  return prepared;
}

std::string EmulatedDevice::failure() const {
  // relaxed: as in compute()
  if (!is_lost_.load(std::memory_order_relaxed)) return {};
  return "emulated device '" + name() + "' is lost (lose_at)";
}

void EmulatedDevice::arrive(const Task& task) {
  const PlanNode& node = task.run->plan().node(task.node);
  if (node.kind == NodeKind::copy && node.is_linked) return links_[node.link].ask(task);
  if (const SubmittedPtr claim = claim_of(task)) {
    claim->here = true;
    claim->work.task = task;
    return;
  }
  backlog_.insert(WaitingNode::of(task));
}

std::int64_t EmulatedDevice::next_event_ns() const {
  std::int64_t next_ns = never_ns;
  bool submits = !backlog_.empty();
  for (const Lane& lane : lanes_) {
    if (lane.running) next_ns = std::min(next_ns, lane.running->work.end_ns);
    if (!lane.running && lane.next && lane.next->here)
      next_ns = std::min(next_ns, lane.next->launched_ns);
    submits = submits || lane.takes_more();
  }
  if (submits && submitter_free_ns_ > clock_ns_) next_ns = std::min(next_ns, submitter_free_ns_);
  for (const CopyEngine& link : links_) next_ns = std::min(next_ns, link.next_end_ns());
  return next_ns;
}

/// The order of placement/simulator.py: all that ends is booked before anything starts.
void EmulatedDevice::happen(std::int64_t clock_ns) {
  clock_ns_ = std::max(clock_ns_, clock_ns);
  do {
    book();
    launch_copies();
  } while (copies_end_now());
  bool changed = true;
  while (changed) {
    changed = false;
    while (submit_one()) changed = true;
    changed = start_all() || changed;
  }
}

void EmulatedDevice::book() {
  std::vector<TimedWork> ended;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const SubmittedPtr done = lanes_[i].running;
    if (!done || done->work.end_ns > clock_ns_) continue;
    release(done);
    count_executed();
    end(done->work, done->work.lane);
  }
  for (CopyEngine& link : links_) link.take_ended(clock_ns_, ended);
  for (TimedWork& copy : ended) end(copy, 0);
  settle();
}

void EmulatedDevice::launch_copies() {
  std::vector<Task> stopped;
  for (CopyEngine& link : links_) link.launch(clock_ns_, submitter_free_ns_, stopped);
  for (const Task& task : stopped) skip(task);
  settle();
}

/// Whether some took no time.
bool EmulatedDevice::copies_end_now() const {
  return std::any_of(links_.begin(), links_.end(),
                     [this](const CopyEngine& link) { return link.next_end_ns() <= clock_ns_; });
}

/// The most urgent ready node to idle lanes, or one more to a lane that runs.
bool EmulatedDevice::submit_one() {
  if (submitter_free_ns_ > clock_ns_) return false;
  if (backlog_.empty()) return submit_ahead();
  const Task task = backlog_.begin()->task;
  if (task.run->should_skip()) {
    backlog_.erase(backlog_.begin());
    skip(task);
    settle();
    return true;
  }
  const std::size_t width = task.run->plan().node(task.node).width;
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < lanes_.size() && idle.size() < width; ++i)
    if (lanes_[i].is_idle()) idle.push_back(i);
  // A wide node keeps the others from starting until lanes enough are idle: so it is not starved.
  if (idle.size() < width) return width == 1 && submit_ahead();
  backlog_.erase(backlog_.begin());
  submit(task, idle, true);
  return true;
}

bool EmulatedDevice::submit_ahead() {
  if (params_.submit_ns == 0) return false;  // nothing to be gained
  std::vector<Ahead> found;
  if (!backlog_.empty()) consider(*backlog_.begin(), clock_ns_, true, found);
  for (const Lane& lane : lanes_)
    if (lane.running && !lane.running->work.task.run->stopped()) prospects(*lane.running, found);
  const auto best =
      std::min_element(found.begin(), found.end(),
                       [](const Ahead& a, const Ahead& b) { return a.waiting < b.waiting; });
  if (best == found.end()) return false;
  const Ahead chosen = *best;
  if (chosen.here) backlog_.erase(backlog_.begin());
  submit(chosen.waiting.task, {chosen.lane}, chosen.here);
  return true;
}

/// Nodes that wait for nothing but running nodes of this device.
void EmulatedDevice::prospects(const Submitted& running, std::vector<Ahead>& found) const {
  Run& run = *running.work.task.run;
  const Plan& plan = run.plan();
  for (const std::uint32_t index : plan.successors(plan.node(running.work.task.node))) {
    const PlanNode& node = plan.node(index);
    const Task task{&run, index, 0};
    if (node.executor != executor() || node.kind == NodeKind::copy || node.width > 1) continue;
    const std::int64_t ready_ns = inputs_ns(run, index);
    if (ready_ns != never_ns && !claim_of(task))
      consider(WaitingNode::of(task), ready_ns, false, found);
  }
}

/// When the last of the running nodes that it waits for ends; never_ns if it waits for others too.
std::int64_t EmulatedDevice::inputs_ns(const Run& run, std::uint32_t node) const {
  std::uint32_t running = 0;
  std::int64_t last_ns = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!lanes_[i].running || static_cast<std::size_t>(lanes_[i].running->work.lane) != i) continue;
    const TimedWork& work = lanes_[i].running->work;
    if (work.task.run != &run) continue;
    if (!run.plan().is_successor(run.plan().node(work.task.node), node)) continue;
    ++running;
    last_ns = std::max(last_ns, work.end_ns);
  }
  return running != 0 && run.unfinished(node) == running ? last_ns : never_ns;
}

/// Finds the lane that is free first of those where the node's inputs leave no gap.
void EmulatedDevice::consider(const WaitingNode& waiting, std::int64_t inputs_ns, bool here,
                              std::vector<Ahead>& found) const {
  std::size_t best = lanes_.size();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!lanes_[i].takes_more() || lanes_[i].running->work.end_ns < inputs_ns) continue;
    if (best == lanes_.size() || lanes_[i].running->work.end_ns < lanes_[best].running->work.end_ns)
      best = i;
  }
  if (best < lanes_.size()) found.push_back({waiting, inputs_ns, best, here});
}

void EmulatedDevice::submit(const Task& task, const std::vector<std::size_t>& lanes, bool here) {
  const PlanNode& node = task.run->plan().node(task.node);
  const auto submitted = std::make_shared<Submitted>();
  submitted->work.task = task;
  submitted->work.lane = static_cast<int>(lanes.front());
  submitted->width = node.width;
  submitted->here = here;
  // Not the clock: of a node that came late it is later than its own time.
  std::int64_t from_ns = std::max(submitter_free_ns_, here ? task.ready_ns : clock_ns_);
  for (const std::size_t lane : lanes) {
    from_ns = std::max(
        from_ns, lanes_[lane].running ? lanes_[lane].running->work.start_ns : lanes_[lane].free_ns);
    lanes_[lane].next = submitted;
  }
  submitted->launched_ns = from_ns + params_.submit_ns;
  submitter_free_ns_ = submitted->launched_ns + node.launch_ns;
}

EmulatedDevice::SubmittedPtr EmulatedDevice::claim_of(const Task& task) const {
  for (const Lane& lane : lanes_)
    if (lane.next && lane.next->work.task.run == task.run && lane.next->work.task.node == task.node)
      return lane.next;
  return nullptr;
}

/// Starts what was launched, has its inputs and its lanes; then all know how many lanes are busy.
bool EmulatedDevice::start_all() {
  std::vector<SubmittedPtr> started;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const SubmittedPtr next = lanes_[i].next;
    if (!next || lanes_[i].running || !next->here || next->launched_ns > clock_ns_) continue;
    next->work.start_ns = std::max(next->launched_ns, next->work.task.ready_ns);
    for (Lane& lane : lanes_) {
      if (lane.next != next) continue;
      next->work.start_ns = std::max(next->work.start_ns, lane.free_ns);
      lane.running = std::move(lane.next);
    }
    started.push_back(next);
  }
  for (const SubmittedPtr& submitted : started) begin(*submitted);
  return !started.empty();
}

void EmulatedDevice::begin(Submitted& submitted) {
  TimedWork& work = submitted.work;
  const PlanNode& node = work.task.run->plan().node(work.task.node);
  std::int64_t duration_ns = node.service_ns;
  if (!params_.slowdown.empty()) {
    const auto busy = static_cast<std::size_t>(std::count_if(
        lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.running != nullptr; }));
    const double factor = params_.slowdown[std::min(busy, params_.slowdown.size()) - 1];
    duration_ns = static_cast<std::int64_t>(static_cast<double>(node.service_ns) * factor);
  }
  work.end_ns = work.start_ns;
  work.task.run->take_inputs(node, work.values);
  // prepare() made the kernel
  if (const auto* kernel = static_cast<const EmulatedKernel*>(node.kernel)) {
    if (kernel->is_first_run())
      duration_ns += params_.first_run_ns + (node.is_captured ? params_.capture_ns : 0);
    compute(work, node);
    if (!params_.replay) work.end_ns = std::max(work.end_ns, now_ns());
  }
  work.end_ns = std::max(work.end_ns, work.start_ns + duration_ns);
}

void EmulatedDevice::compute(TimedWork& work, const PlanNode& node) {
  ++executions_;
  // relaxed, both: whoever asks has seen a run fail of it, or asks again
  if (executions_ == params_.lose_at) is_lost_.store(true, std::memory_order_relaxed);
  if (is_lost_.load(std::memory_order_relaxed))
    return work.task.run->fail(work.task.node, failure());
  if (params_.fail_every != 0 && executions_ % params_.fail_every == 0) {
    work.task.run->fail(work.task.node, "emulated device '" + name() + "' failed (fail_every)");
    return;
  }
  machine().budget().add_running(1);
  work.task.run->compute(work.task.node, node, work.values);
  machine().budget().remove_running(1);
}

void EmulatedDevice::release(const SubmittedPtr& submitted) {
  for (Lane& lane : lanes_) {
    if (lane.running != submitted) continue;
    lane.free_ns = submitted->work.end_ns;
    lane.running.reset();
  }
}

void EmulatedDevice::end_stopped() {
  const std::int64_t now = now_ns();
  std::vector<Task> waiting;
  std::vector<TimedWork> ended;
  const auto is_stopped = [](const SubmittedPtr& s) { return s && s->work.task.run->stopped(); };
  for (CopyEngine& link : links_) link.take_stopped(ended, waiting);
  for (Lane& lane : lanes_) {
    const SubmittedPtr next = lane.next, running = lane.running;
    // One whose inputs are not here will arrive, and is skipped then.
    if (is_stopped(next)) {
      if (next->here) waiting.push_back(next->work.task);
      for (Lane& other : lanes_)
        if (other.next == next) other.next.reset();
    }
    if (!is_stopped(running)) continue;
    running->work.end_ns = std::max(running->work.start_ns, std::min(running->work.end_ns, now));
    release(running);
    ended.push_back(std::move(running->work));
  }
  std::erase_if(backlog_, [&waiting](const WaitingNode& w) {
    if (!w.task.run->stopped()) return false;
    waiting.push_back(w.task);
    return true;
  });
  for (const Task& task : waiting) skip(task);
  for (TimedWork& work : ended) {
    work.end_ns = std::max(work.start_ns, std::min(work.end_ns, now));
    end(work, work.lane);
  }
}

std::size_t EmulatedDevice::waiting() const {
  std::size_t count = backlog_.size();
  for (const CopyEngine& link : links_) count += link.waiting();
  for (const Lane& lane : lanes_) count += lane.next ? 1 : 0;
  return count;
}

void EmulatedDevice::check_runs() {
  const auto visit = [this](const Task& task) {
    if (!task.run->should_skip()) watch(*task.run);
  };
  for (const WaitingNode& waiting : backlog_) visit(waiting.task);
  for (const CopyEngine& link : links_) link.visit(visit);
  for (const Lane& lane : lanes_) {
    if (lane.running) visit(lane.running->work.task);
    if (lane.next) visit(lane.next->work.task);
  }
}

}  // namespace engine
