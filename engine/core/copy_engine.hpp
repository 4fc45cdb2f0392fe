// The copy engines of an emulated device: one link towards it, one back.
#pragma once

#include <array>

#include "timed_device.hpp"

namespace engine {

/// Copies over one link run in order. A copy holds its link for bytes / bandwidth; the data is
/// there a latency later. The value itself is passed on: host and device memory are one.
class CopyEngine final : public TimedDevice {
 public:
  CopyEngine(const DeviceParams& params, Machine& machine);

 protected:
  [[nodiscard]] bool can_start(const PlanNode& node, std::int64_t now) const override;
  [[nodiscard]] std::int64_t next_start_ns(const PlanNode& node) const override;
  Span launch(const Task& task, const PlanNode& node, NodeValues& values) override;

 private:
  struct Link {
    std::int64_t latency_ns;
    double bytes_per_s;
    std::int64_t free_ns = 0;
  };
  std::array<Link, 2> links_;  ///< by PlanNode::link
};

}  // namespace engine
