// How a CUDA device gets a node into the stream of a lane: by its own thread or the lane's.
#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>

#include "devices/cuda/cuda_device.hpp"

namespace engine::cuda {

namespace {

const CudaValue* on_device(const ValuePtr& value) {
  return dynamic_cast<const CudaValue*>(value.get());
}

}  // namespace

/// Begins to submit a node, and ends that unless the lane's thread is to.
void CudaDevice::enqueue(const Task& task, const PlanNode& node, std::uint32_t lane) {
  Launching& at = launching_[lane];
  at.task = task;
  at.start_ns = now_ns();
  at.kernel = static_cast<const KernelSlot*>(node.kernel);  // prepare() made it
  task.run->take_inputs(node, at.values);
  at.values.outputs.resize(node.end_output - node.first_output);
  at.is_alone = false;
  begin_launch(lane);
}

void CudaDevice::begin_launch(std::uint32_t lane) {
  Launching& at = launching_[lane];
  const PlanNode& node = at.task.run->plan().node(at.task.node);
  at.launch.emplace(gpu_.api(), gpu_.streams(), gpu_.memory(), gpu_.pinned(), lane);
  at.failure.reset();
  at.took_ns = 0;
  launching_lanes_ |= LaneSet{1} << lane;
  gpu_.streams().set_launching(lane, true);
  try {
    for (const ValuePtr& input : at.values.inputs) {
      if (!input) continue;
      const CudaValue* value = on_device(input);
      if (value == nullptr) throw std::runtime_error("an input is not in the GPU's memory");
      gpu_.streams().wait(lane, value->written());
    }
  } catch (const std::exception& error) {
    at.failure = failure_of(error);
  }
  if (at.kernel != nullptr && !at.failure) {
    // Waking a thread takes some microseconds, which short launches are not to pay; a graph must be
    // launched by the thread that captured it.
    if (gpu_.threads().any() && !at.kernel->replays(lane, at.values.inputs) &&
        !at.kernel->is_brief(lane)) {
      Partition& partition = gpu_.partitions[partition_of(node.executor)];
      partition.by_lanes.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
      return gpu_.threads().post(lane, at.job);
    }
    launch(at);
  }
  end_launch(lane);
}

/// What a lane's thread does for a node, or the device's own.
void CudaDevice::launch(Launching& launching) noexcept {
  const std::int64_t start_ns = now_ns();
  try {
    launching.kernel->enqueue(*launching.launch, launching.values.inputs, launching.values.outputs);
  } catch (const std::exception& error) {
    launching.failure = failure_of(error);
  }
  launching.took_ns = now_ns() - start_ns;
}

/// All of a node is in the stream of its lane, or cannot be.
void CudaDevice::end_launch(std::uint32_t lane) {
  Launching& at = launching_[lane];
  launching_lanes_ &= ~(LaneSet{1} << lane);
  gpu_.streams().set_launching(lane, false);
  if (starve(lane)) return;
  const Task task = at.task;
  Run& run = *task.run;
  const PlanNode& node = run.plan().node(task.node);
  Submitted entry{.task = task, .start_ns = at.start_ns};
  entry.launch_kept = at.launch->take_kept();
  std::ranges::move(at.kept, std::back_inserter(entry.launch_kept));
  at.kept.clear();
  if (at.failure) fail(task, *at.failure);
  if (at.launch->is_replay())
    gpu_.partitions[partition_of(node.executor)].replayed.fetch_add(
        1, std::memory_order_relaxed);  // relaxed: a statistic
  else if (at.kernel != nullptr && !at.failure)
    at.kernel->note_launch(lane, at.took_ns);
  at.launch.reset();
  if (!record(entry, lane)) return abandon(task, at.values);
  for (const ValuePtr& input : at.values.inputs)
    if (const CudaValue* value = on_device(input))
      gpu_.memory().note_use(value->data(), entry.stamp);
  for (const ValuePtr& output : at.values.outputs)
    if (const CudaValue* value = on_device(output)) value->set_written(entry.stamp);
  if (run.stopped()) at.values.outputs.clear();
  run.publish(task.node, node, at.values);
  in_flight_.add(std::move(entry));
  pass_on(task, node);
}

/// Ends the launches that lanes' threads have made; whether there were any.
bool CudaDevice::end_launches() {
  bool any = false;
  for (LaneSet left = launching_lanes_; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    if (!has(launching_lanes_, lane) || !gpu_.threads().take_ended(lane)) continue;  // or lost
    end_launch(lane);
    any = true;
  }
  if (starved_lanes_ != 0 && launching_lanes_ == 0) feed();
  return any;
}

/// What other lanes are launching with has no event yet, for which a stream could wait. A launch
/// that lacked memory beside others is made again when these have ended; whether it is such a one.
bool CudaDevice::starve(std::uint32_t lane) {
  Launching& at = launching_[lane];
  if (!at.failure || at.failure->is_fatal || !at.launch->ran_out() || at.is_alone) return false;
  if (!gpu_.threads().any()) return false;
  Submitted begun;
  if (!record(begun, lane)) return false;
  at.kept = at.launch->take_kept();
  at.values.outputs.assign(at.values.outputs.size(), nullptr);
  starved_lanes_ |= LaneSet{1} << lane;
  return true;
}

/// Makes one of those again.
void CudaDevice::feed() {
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(starved_lanes_));
  starved_lanes_ &= starved_lanes_ - 1;
  launching_[lane].is_alone = true;
  begin_launch(lane);
}

bool CudaDevice::has_ended_launch() noexcept {
  for (LaneSet left = launching_lanes_; left != 0; left &= left - 1)
    if (gpu_.threads().has_ended(static_cast<std::uint32_t>(std::countr_zero(left)))) return true;
  return false;
}

/// The same when the others have: then no lane is launching.
void CudaDevice::await_launches() {
  while (is_launching()) {
    if (launching_lanes_ != 0)
      gpu_.threads().await(static_cast<std::uint32_t>(std::countr_zero(launching_lanes_)));
    end_launches();
  }
}

/// Ends those of a lost device with its error; they return, since all calls fail there.
void CudaDevice::abandon_launches() {
  while (is_launching()) {
    const auto lane =
        static_cast<std::uint32_t>(std::countr_zero(launching_lanes_ | starved_lanes_));
    Launching& at = launching_[lane];
    if (has(launching_lanes_, lane)) gpu_.threads().await(lane);
    static_cast<void>(gpu_.threads().take_ended(lane));
    launching_lanes_ &= ~(LaneSet{1} << lane);
    starved_lanes_ &= ~(LaneSet{1} << lane);
    at.kept.clear();
    gpu_.streams().set_launching(lane, false);
    const Task task = at.task;
    at.launch.reset();
    task.run->fail(task.node, gpu_.health.lost);
    at.values.outputs.clear();
    task.run->publish(task.node, task.run->plan().node(task.node), at.values);
    complete_skipped(task);
  }
}

CudaDevice::Failure CudaDevice::failure_of(const std::exception& error) {
  const auto* cuda_error = dynamic_cast<const Error*>(&error);
  return {error.what(), cuda_error != nullptr && cuda_error->is_fatal()};
}

}  // namespace engine::cuda
