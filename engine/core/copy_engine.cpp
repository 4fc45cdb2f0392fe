#include "copy_engine.hpp"

#include <algorithm>
#include <cmath>

namespace engine {

CopyEngine::CopyEngine(const DeviceParams& params, Machine& machine)
    : TimedDevice(params.name + " copies", 2, machine),
      links_{Link{params.h2d_latency_ns, params.h2d_bytes_per_s},
             Link{params.d2h_latency_ns, params.d2h_bytes_per_s}} {}

/// Always: a copy may be handed to its link while an earlier one holds it, so that a copy in one
/// direction never waits behind one in the other.
bool CopyEngine::can_start(const PlanNode&, std::int64_t) const { return true; }

std::int64_t CopyEngine::next_start_ns(const PlanNode& node) const {
  return links_[node.link].free_ns;
}

TimedDevice::Span CopyEngine::launch(const Task& task, const PlanNode& node, NodeValues& values) {
  Link& link = links_[node.link];
  const std::size_t size_bytes = values.inputs[0] ? values.inputs[0]->bytes() : 0;
  const std::int64_t start_ns = std::max(task.ready_ns, link.free_ns);
  link.free_ns = start_ns + std::llround(static_cast<double>(size_bytes) * 1e9 / link.bytes_per_s);
  task.run->compute(task.node, node, values);
  return {0, start_ns, link.free_ns + link.latency_ns};
}

}  // namespace engine
