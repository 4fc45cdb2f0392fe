// Lanes of a CPU among those of other processes: the parts of CpuDevice that know of the broker.
#include <algorithm>
#include <utility>

#include "devices/cpu/cpu_device.hpp"

namespace engine {

/// Before a node is computed. A lane waits for its turn only where its place may be lent meanwhile,
/// or where nothing could be more urgent: what comes to this process must not wait behind it.
void CpuDevice::lease(Lane& lane, const Task& task, std::int64_t service_ns, bool lends) {
  broker::Broker& broker = machine_.broker();
  Run& run = *task.run;
  const PlanNode& node = run.plan().node(task.node);
  if (lane.row < 0) lane.row = broker.take_row();
  // relaxed: a flag that is set once
  const bool waits = lends || is_idle_ || !lends_.load(std::memory_order_relaxed);
  const std::int64_t left_ns =
      node.dependencies == 0 ? std::max(run.plan().critical_path_ns(), service_ns) : 0;
  if (lends) lane.loan.expect(RunOrder::never);  // its place may be lent while it waits
  const broker::Turn turn = broker.begin(lane.row,
                                         {.order = run.order(),
                                          .arrival_ns = run.begun_ns(),
                                          .service_ns = service_ns,
                                          .left_ns = left_ns,
                                          .width = node.width,
                                          .waits = waits,
                                          .what = run.plan().node_name(task.node)},
                                         [&run] { return run.should_skip(); });
  if (turn.beside >= 0 && lane.taker.helps == nullptr) spread_.move_to(turn.beside);
  if (turn.waited_for >= 0 && run.is_recorded())
    run.record_wait(lane.shown_id, broker.who(turn.waited_for), turn.since_ns, now_ns(),
                    *lane.flights);
  if (lends) lane.loan.expect(now_ns() + service_ns);
}

void CpuDevice::give_back_rows() noexcept {
  for (const auto& lane : by_id_) machine_.broker().give_back_row(std::exchange(lane->row, -1));
}

}  // namespace engine
