// How a CUDA device takes nodes from ready to ended.
#include <algorithm>
#include <ranges>

#include "devices/cuda/cuda_device.hpp"

namespace engine::cuda {

namespace {

constexpr std::size_t copies_at_once = 16;
constexpr int looks = 32;  ///< tasks that are looked at for one whose lane has room

}  // namespace

bool CudaDevice::submit_next() {
  bool any = false;
  if (!gpu_.health.is_lost()) any |= submit_copy(Backlog::copies_out);
  if (!gpu_.health.is_lost()) any |= submit_copy(Backlog::copies_in);
  for (std::size_t i = 0; !gpu_.health.is_lost() && i < gpu_.partitions.size(); ++i)
    any |= submit_kernel(i);
  return any;
}

bool CudaDevice::has_room(std::uint32_t stream) const {
  if (stream < gpu_.in_stream && has(launching_lanes_ | starved_lanes_, stream)) return false;
  const auto depth = static_cast<std::size_t>(gpu_.params.queue_depth);
  return in_flight_.count(stream) < (stream < gpu_.in_stream ? depth : copies_at_once);
}

/// The lane with the fewest submissions, or the one that ends with a node that this one follows, of
/// those that the kernel is open on; and another with fewer still.
CudaDevice::LaneChoice CudaDevice::choose_lane(const Task& task, const Partition& partition) const {
  const PlanNode& node = task.run->plan().node(task.node);
  const auto* kernel = static_cast<const CudaKernel*>(node.kernel);  // prepare() made it
  const LaneSet open = kernel == nullptr ? all_lanes : kernel->lanes();
  std::optional<std::uint32_t> best, other;
  const std::uint32_t end_lane = partition.first_lane + partition.lanes;
  for (std::uint32_t lane = partition.first_lane; lane < end_lane; ++lane) {
    const Submitted* const last = in_flight_.last(lane);
    const bool is_open = has(open, lane);
    // The run's own chain goes on where it is: its stream is in order, no event is needed. Where
    // that is full, it waits: no other lane would be sooner.
    if (is_open && last != nullptr && last->task.run == task.run) {
      const Plan& plan = task.run->plan();
      const auto successors = plan.successors(plan.node(last->task.node));
      if (std::ranges::find(successors, task.node) != successors.end())
        return {has_room(lane) ? std::optional(lane) : std::nullopt};
    }
    if (!has_room(lane)) continue;
    std::optional<std::uint32_t>& least = is_open ? best : other;
    if (!least || in_flight_.count(lane) < in_flight_.count(*least)) least = lane;
  }
  if (other && best && in_flight_.count(*other) >= in_flight_.count(*best)) other.reset();
  return {best, other};
}

/// The most urgent one that has room on a lane that it is open on. One whose lanes are full holds
/// back none of other lanes: it may never be opened on these, for lack of memory.
bool CudaDevice::submit_kernel(std::size_t partition) {
  if (starved_lanes_ != 0 || copy_starves_) return false;
  const Partition& part = gpu_.partitions[partition];
  const auto end_lane = part.first_lane + part.lanes;
  const auto lanes_of_it = std::views::iota(part.first_lane, end_lane);
  if (std::ranges::none_of(lanes_of_it, [&](std::uint32_t lane) { return has_room(lane); }))
    return false;
  std::optional<std::uint32_t> lane;
  bool is_held_back = false;  // by other processes: then is all that goes after it
  const auto suits = [&](const Task& task) {
    if (task.run->should_skip()) return true;
    const PlanNode& node = task.run->plan().node(task.node);
    const LaneChoice choice = choose_lane(task, part);
    if (choice.wished) kernels_.wish(node, partition, *choice.wished);
    if (!choice.lane) return false;
    if (is_leased(node)) {
      is_held_back = is_held_back || !may_submit(task);
      if (is_held_back) return false;
    }
    lane = choice.lane;
    return true;
  };
  const auto task = backlog_.pop_suitable(Backlog::kernels_of(partition), looks, suits);
  if (!task) return false;
  if (lane)
    enqueue(*task, task->run->plan().node(task->node), *lane);
  else
    skip(*task);
  return true;
}

/// Fails the run; remembers an error after which nothing can be submitted any more.
void CudaDevice::fail(const Task& task, const Failure& failure) {
  if (failure.is_fatal)
    gpu_.health.fatal = failure.why;
  else
    task.run->fail(task.node, "device '" + name() + "': " + failure.why);
}

/// Ends a submission with its event; false if the device is lost.
bool CudaDevice::record(Submitted& entry, std::uint32_t stream) {
  try {
    if (gpu_.health.fatal.empty()) entry.stamp = gpu_.streams().record(stream);
  } catch (const std::exception& error) {
    gpu_.health.fatal = error.what();
  }
  return gpu_.health.fatal.empty();
}

/// Ends a node that was not submitted since the device was lost, and all that was before it.
void CudaDevice::abandon(const Task& task, NodeValues& values) {
  lose(std::exchange(gpu_.health.fatal, {}));
  task.run->fail(task.node, gpu_.health.lost);
  values.outputs.clear();
  task.run->publish(task.node, task.run->plan().node(task.node), values);
  complete_skipped(task);
}

/// What was submitted is good enough for successors on this device.
void CudaDevice::pass_on(const Task& task, const PlanNode& node) {
  Run& run = *task.run;
  const std::int64_t now = run.traced() ? now_ns() : 0;
  run.complete_towards(
      node, [this](const PlanNode& next) { return backlog_.is_here(next.executor); },
      [&](std::uint32_t index, const PlanNode&) {
        if (run.traced()) run.trace_ready(index, now);
        backlog_.push({&run, index, 0});
      });
}

void CudaDevice::end(Submitted& entry) {
  const Task task = entry.task;
  Run& run = *task.run;
  const PlanNode& node = run.plan().node(task.node);
  const bool is_copy_out = backlog_.queue_of(node) == Backlog::copies_out;
  if (is_copy_out) receive(entry);
  entry.kept.reset();  // memory of another GPU, say, which may be closed when the run has ended
  Partition& partition = gpu_.partitions[partition_of(node.executor)];
  partition.executed.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  std::int64_t& busy_until_ns = busy_until_ns_[entry.stamp.stream];
  const std::int64_t now = now_ns();
  if (run.is_timed()) {
    const bool is_lane = entry.stamp.stream < gpu_.in_stream;
    run.trace(task.node, is_lane ? static_cast<int>(entry.stamp.stream - partition.first_lane) : 0,
              std::max(entry.start_ns, busy_until_ns), now);
  }
  busy_until_ns = now;
  std::optional<RunPtr> hold = in_flight_.end(run);
  const bool is_last = hold.has_value();
  // Let go of before the run can end, so that its last caller finds it so; but not if all that
  // waits for this node went on when it was submitted: then nothing else may keep the run.
  if (is_last && has_rest(task, node)) hold.reset();
  if (!hold) complete_rest(task, node, is_copy_out);
  hold.reset();
  if (is_last) end_skipped(&run);
}

/// Whether something waits for the end of the node's work.
bool CudaDevice::has_rest(const Task& task, const PlanNode& node) const {
  const Plan& plan = task.run->plan();
  const auto successors = plan.successors(node);
  return successors.empty() || backlog_.queue_of(node) == Backlog::copies_out ||
         std::ranges::any_of(successors, [&](std::uint32_t next) {
           return !backlog_.is_here(plan.node(next).executor);
         });
}

/// Successors that wait for the end of the work. The run may be gone afterwards.
void CudaDevice::complete_rest(const Task& task, const PlanNode& node, bool is_copy_out) {
  Run& run = *task.run;
  const std::int64_t now = now_ns();
  const auto ready = made_ready_.noting(run, now);
  if (is_copy_out || node.first_successor == node.end_successor)
    run.complete(node, ready);
  else
    run.complete_towards(
        node, [this](const PlanNode& next) { return !backlog_.is_here(next.executor); }, ready);
  hand_over();
}

void CudaDevice::hand_over() {
  made_ready_.hand_on(machine_, [this](std::uint32_t executor, const Task& task) {
    if (!backlog_.is_here(executor)) return false;
    backlog_.push(task);
    return true;
  });
}

/// A node of a stopped run. It counts as done behind all that the run has submitted, so that the
/// run does not end before these.
void CudaDevice::skip(const Task& task) {
  Run& run = *task.run;
  run.take_inputs(run.plan().node(task.node), scratch_);
  run.publish(task.node, run.plan().node(task.node), scratch_);
  if (in_flight_.has(run))
    skipped_.push_back(task);
  else
    complete_skipped(task);
}

void CudaDevice::complete_skipped(const Task& task) {
  Run& run = *task.run;
  const std::int64_t now = now_ns();
  if (run.is_timed()) run.trace(task.node, -1, now, now);
  made_ready_.complete(run, run.plan().node(task.node), now);
  hand_over();
}

void CudaDevice::end_skipped(const Run* run) {
  std::vector<Task> tasks;
  std::erase_if(skipped_, [&](const Task& task) {
    if (task.run == run) tasks.push_back(task);
    return task.run == run;
  });
  for (const Task& task : tasks) complete_skipped(task);
}

/// Ends all that is here with an error; what comes later ends the same way in step().
void CudaDevice::lose(const std::string& why) {
  std::string& lost = gpu_.health.lost;
  lost = "device '" + name() + "' is lost: " + why;
  kernels_.forget_wishes();
  if (!gpu_.params.resets_when_lost) lost += "; only a new process can use it again";
  {
    const std::lock_guard lock(failure_mutex_);
    failure_ = lost;
  }
  abandon_launches();
  std::vector<Submitted> all = in_flight_.take_all();
  for (Submitted& entry : all) entry.task.run->fail(entry.task.node, lost);
  for (Submitted& entry : all) end(entry);
  for (auto& held : held_) {
    if (!held) continue;
    const Task task = held->task;
    task.run->fail(task.node, lost);
    held->values.outputs.clear();
    task.run->publish(task.node, task.run->plan().node(task.node), held->values);
    held.reset();
    complete_skipped(task);
  }
}

}  // namespace engine::cuda
