#include "emulated_device.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace engine {

namespace {

/// Remembers whether the node ran before, and its outputs if they are to be replayed. Executed
/// by the device's one thread only, hence the mutable members without a lock.
class EmulatedKernel final : public Kernel {
 public:
  EmulatedKernel(std::shared_ptr<const Kernel> kernel, bool replay)
      : kernel_(std::move(kernel)), replay_(replay) {}

  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    if (!recorded_.empty()) {
      std::copy(recorded_.begin(), recorded_.end(), outputs.begin());
      return;
    }
    kernel_->execute(inputs, outputs, token);
    if (replay_) recorded_.assign(outputs.begin(), outputs.end());
  }
  /// True once.
  [[nodiscard]] bool is_first_run() const noexcept { return std::exchange(first_, false); }

 private:
  const std::shared_ptr<const Kernel> kernel_;
  const bool replay_;
  mutable bool first_ = true;
  mutable std::vector<ValuePtr> recorded_;
};

}  // namespace

EmulatedDevice::EmulatedDevice(const DeviceParams& params, Machine& machine)
    : TimedDevice(params.name, params.lanes, machine),
      params_(params),
      free_ns_(static_cast<std::size_t>(params.lanes), 0) {}

std::shared_ptr<const Kernel> EmulatedDevice::prepare(std::shared_ptr<const Kernel> kernel) {
  if (params_.fail_prepare)
    throw std::runtime_error("emulated device '" + name() + "' refuses the segment (fail_prepare)");
  return std::make_shared<EmulatedKernel>(std::move(kernel), params_.replay);
}

bool EmulatedDevice::can_start(const PlanNode& node, std::int64_t now) const {
  return std::count_if(free_ns_.begin(), free_ns_.end(),
                       [now](std::int64_t free) { return free <= now; }) >= node.width;
}

std::int64_t EmulatedDevice::next_start_ns(const PlanNode& node) const {
  std::vector<std::int64_t> free = free_ns_;
  std::sort(free.begin(), free.end());
  return free[node.width - 1U];
}

TimedDevice::Span EmulatedDevice::launch(const Task& task, const PlanNode& node,
                                         NodeValues& values) {
  submitter_free_ns_ = std::max(task.ready_ns, submitter_free_ns_) + params_.submit_ns;
  const std::int64_t start_ns = std::max(submitter_free_ns_, next_start_ns(node));
  std::int64_t duration_ns = charge_ns(node, start_ns);
  // prepare() made the kernel
  const auto* kernel = static_cast<const EmulatedKernel*>(node.kernel);
  std::int64_t end_ns = start_ns;
  if (kernel != nullptr) {
    if (kernel->is_first_run()) duration_ns += params_.first_run_ns;
    compute(task, node, values);
    if (!params_.replay) end_ns = std::max(end_ns, now_ns());
  }
  end_ns = std::max(end_ns, start_ns + duration_ns);
  const int lane = occupy(node.width, start_ns, end_ns);
  return {lane, start_ns, end_ns};
}

void EmulatedDevice::compute(const Task& task, const PlanNode& node, NodeValues& values) {
  if (params_.fail_every != 0 && ++executions_ % params_.fail_every == 0) {
    task.run->fail(task.node, "emulated device '" + name() + "' failed (fail_every)");
    return;
  }
  machine().budget().add_running(1);
  task.run->compute(task.node, node, values);
  machine().budget().remove_running(1);
}

std::int64_t EmulatedDevice::charge_ns(const PlanNode& node, std::int64_t start_ns) const {
  if (params_.slowdown.empty()) return node.service_ns;
  const auto others = static_cast<std::size_t>(std::count_if(
      free_ns_.begin(), free_ns_.end(), [start_ns](std::int64_t free) { return free > start_ns; }));
  const std::size_t busy = std::min(others + node.width, params_.slowdown.size());
  return static_cast<std::int64_t>(static_cast<double>(node.service_ns) *
                                   params_.slowdown[busy - 1]);
}

/// Gives the node free lanes from the lowest on; returns the first of them.
int EmulatedDevice::occupy(int width, std::int64_t start_ns, std::int64_t end_ns) {
  int first = -1;
  for (std::size_t lane = 0; lane < free_ns_.size() && width > 0; ++lane) {
    if (free_ns_[lane] > start_ns) continue;
    if (first < 0) first = static_cast<int>(lane);
    free_ns_[lane] = end_ns;
    --width;
  }
  return first;
}

}  // namespace engine
