// Stands in for a GPU where there is none: real outputs, time charged from a profile.
#pragma once

#include <vector>

#include "timed_device.hpp"

namespace engine {

/// Nodes start in order of urgency on L lanes that share a capacity: with b busy lanes a node
/// takes service_ns * slowdown[b - 1]. Its kernel is executed on the device's thread when it
/// starts, so it ends at the later of the charged time and the real end of computing; with
/// replay the outputs of the first execution are kept and given again at no cost.
class EmulatedDevice final : public TimedDevice {
 public:
  EmulatedDevice(const DeviceParams& params, Machine& machine);

  /// Throws std::runtime_error if fail_prepare is set.
  [[nodiscard]] std::shared_ptr<const Kernel> prepare(
      std::shared_ptr<const Kernel> kernel) override;

 protected:
  [[nodiscard]] bool can_start(const PlanNode& node, std::int64_t now) const override;
  [[nodiscard]] std::int64_t next_start_ns(const PlanNode& node) const override;
  Span launch(const Task& task, const PlanNode& node, NodeValues& values) override;

 private:
  void compute(const Task& task, const PlanNode& node, NodeValues& values);
  [[nodiscard]] std::int64_t charge_ns(const PlanNode& node, std::int64_t start_ns) const;
  int occupy(int width, std::int64_t start_ns, std::int64_t end_ns);

  const DeviceParams params_;
  std::vector<std::int64_t> free_ns_;  ///< per lane
  std::int64_t submitter_free_ns_ = 0;
  std::uint64_t executions_ = 0;
};

}  // namespace engine
