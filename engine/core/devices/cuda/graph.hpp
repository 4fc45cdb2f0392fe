// CUDA graphs: the work of a kernel captured once and launched at once from then on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "devices/cuda/kernel.hpp"

namespace engine::cuda {

/// A graph that can be launched. One thread; its launches must have ended when it goes.
class Graph {
 public:
  /// Captures what `submit` submits to the stream, which does not run then. Throws what `submit`
  /// throws, or Error; the stream captures no more then.
  Graph(ApiPtr api, StreamHandle stream, const std::function<void()>& submit);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// To the stream that it was captured on. Throws Error.
  void launch() const { api_->graph_launch(executable_, stream_); }

 private:
  const ApiPtr api_;
  const StreamHandle stream_;
  ExecutableHandle executable_ = nullptr;
};

/// Captures a kernel whose enqueue() does nothing but submit work to its stream: runs it once, on
/// inputs of these sizes whose content is undefined, then captures it in the memory of that run.
/// Throws as CudaKernel::capture.
[[nodiscard]] std::unique_ptr<Replay> capture_enqueue(const CudaKernel& kernel, Launch& launch,
                                                      std::span<const TensorInfo> inputs,
                                                      std::size_t outputs);

/// A kernel as a graph on each lane that it is open on. Inputs are copied to where the graphs read
/// them, outputs from where they write them, on the lane's stream: within the GPU's memory, so that
/// nobody waits.
class CapturedKernel final : public CudaKernel {
 public:
  /// Open on no lane, where `kernel` may be.
  CapturedKernel(std::shared_ptr<const CudaKernel> kernel, const DeviceParts& device)
      : kernel_(std::move(kernel)), first_lane_(device.first_lane), replays_(device.lanes) {}

  [[nodiscard]] LaneSet lanes() const noexcept override { return lanes_; }
  /// Captures, and opens `kernel` there if it is not.
  void open(const DeviceParts& device, std::uint32_t lane) const override;
  [[nodiscard]] bool replays(std::uint32_t lane, std::span<const ValuePtr> inputs) const override;
  /// Launches the operators one by one where inputs have other sizes, and for good after a graph
  /// could not be launched.
  void enqueue(Launch& launch, std::span<const ValuePtr> inputs,
               std::span<ValuePtr> outputs) const override;
  void abandon() const noexcept override;

 private:
  const std::shared_ptr<const CudaKernel> kernel_;
  const std::uint32_t first_lane_;
  mutable std::vector<std::unique_ptr<Replay>> replays_;  ///< per lane of its partition, or null
  mutable LaneSet lanes_ = 0;
  mutable std::atomic<bool> is_broken_{false};
};

}  // namespace engine::cuda
