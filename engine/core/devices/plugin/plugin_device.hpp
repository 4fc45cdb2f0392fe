// A GPU behind one of ONNX Runtime's plugin execution providers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "devices/device.hpp"
#include "devices/plugin/params.hpp"
#include "devices/submitting_thread.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/ready_nodes.hpp"
#include "scheduler/ready_queue.hpp"
#include "scheduler/run.hpp"

namespace engine {

/// One lane, whose nodes are executed by the provider's submitting thread: the one thread of the
/// process that creates, runs and destroys sessions on that provider, shared by all machines. It
/// is stopped only after all machines with such a device were closed.
///
/// Values are in the host's memory: the provider copies a session's inputs to the GPU and its
/// outputs back within each run, and a node ends when its outputs are there. Copies of a plan to
/// and from this device only pass the value on.
class PluginDevice final : public Device {
 public:
  /// `executor` is its index in the machine. Throws std::invalid_argument for a device without a
  /// submitting thread or of several lanes.
  PluginDevice(const DeviceParams& params, std::uint32_t executor, Machine& machine);

  void start() override {}
  void stop() noexcept override;
  void push(const Task& task) override;
  [[nodiscard]] std::string provider() const override { return params_.provider; }
  [[nodiscard]] DeviceStats stats() const override;

 private:
  void execute_next();
  std::int64_t execute(const Task& task, const PlanNode& node);

  const PluginParams params_;
  const std::uint32_t executor_;
  Machine& machine_;
  ReadyQueue queue_;
  NodeValues values_;
  ReadyNodes made_ready_;
  std::atomic<int> jobs_{0};  ///< pushes whose job has not ended
  std::atomic<std::uint64_t> executed_{0};
};

}  // namespace engine
