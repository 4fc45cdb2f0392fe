// Runs that one lane answers together: the parts of CpuDevice that do it.
#include "devices/cpu/cpu_device.hpp"

namespace engine {

/// For a lane that has taken a run whose plan is stacked, or was; whether it is to be answered with
/// others. Who borrows a place is there for what is urgent, and takes nothing else along.
bool CpuDevice::gather(Lane& lane, Run& run, const Stacking* stacking) {
  if (lane.lender != nullptr && run.call() == 0) return false;
  const int left = lane.stack.gather(queue_, run, stacking, 1 + seats_.table.available());
  if (left > 0) wake(left);
  return !lane.stack.empty();
}

/// As execute(), of all runs of the stack; those but the task's are completed, too.
std::int64_t CpuDevice::execute_stack(Lane& lane, const Task& task, const PlanNode& node) {
  const std::span<Run* const> runs = lane.stack.runs();
  const std::int64_t start_ns = now_ns();
  const int together = lane.stack.execute(task.node);
  const std::int64_t end_ns = now_ns();
  // relaxed, both: only the holder of the lane writes
  lane.executed.store(lane.executed.load(std::memory_order_relaxed) + lane.stack.asked(),
                      std::memory_order_relaxed);
  for (Run* const run : runs)
    if (run->is_timed())
      run->trace(task.node, run->stopped() ? -1 : lane.shown_id, start_ns, end_ns, lane.flights,
                 together);
  for (Run* const other : runs.subspan(1))
    other->complete(node, [](std::uint32_t, const PlanNode&) {});
  lane.stack.clear();
  return task.run->is_timed() ? end_ns : 0;
}

}  // namespace engine
