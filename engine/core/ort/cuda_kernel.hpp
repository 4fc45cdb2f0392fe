// A segment on a GPU: a session of ONNX Runtime's CUDA provider for each lane that it runs on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "devices/cuda/kernel.hpp"
#include "ort/cuda_session.hpp"

namespace engine::ort {

/// As CudaKernel. A lane's session is opened and ended by the lane's thread, if there is one, which
/// makes its first runs, too (KernelSlot::is_brief): the provider makes what it keeps for a thread
/// (handles of cuBLAS and cuDNN) where a session is opened, gives it back at the end of each run,
/// and to any thread with the next.
///
/// Outputs of sizes that the model declares are bound to memory of the launch,
/// others are allocated by the run.
///
/// Some of ONNX Runtime's kernels leave pinned memory behind at each run, which only a run with
/// synchronisation gives back. So one in some hundreds waits for itself: the first after
/// `drains_after` that finds no other lane at work, or else the one after `drains_at_last`.
class CudaSessionKernel final : public cuda::CudaKernel {
 public:
  static constexpr std::uint32_t drains_after = 256, drains_at_last = 1024;

  /// Open on no lane: without a session.
  CudaSessionKernel(CudaSegment segment, const cuda::DeviceParts& device)
      : segment_(std::move(segment)),
        threads_(device.threads),
        first_lane_(device.first_lane),
        by_lane_(device.lanes) {}
  ~CudaSessionKernel() override;

  [[nodiscard]] cuda::LaneSet lanes() const noexcept override { return lanes_; }
  /// Opens a session. Throws std::runtime_error saying why that cannot be.
  void open(const cuda::DeviceParts& device, std::uint32_t lane) const override;
  void enqueue(cuda::Launch& launch, std::span<const ValuePtr> inputs,
               std::span<ValuePtr> outputs) const override;
  /// By ONNX Runtime's own graphs, in a further session: its Run does not bear being captured by
  /// its caller. Only of fixed sizes.
  [[nodiscard]] std::unique_ptr<cuda::Replay> capture(cuda::Launch& launch) const override;
  void abandon() const noexcept override;

 private:
  struct Lane {
    std::shared_ptr<const void> workspace;  ///< of its handles, counted
    std::unique_ptr<CudaSession> session;
    std::uint32_t undrained = 0;  ///< runs since the last that waited
  };

  void open_here(const cuda::DeviceParts& device, std::uint32_t lane) const;
  /// `declares`: whether declared sizes are true.
  void run(Lane& lane, cuda::Launch& launch, std::span<const ValuePtr> inputs,
           std::span<ValuePtr> outputs, bool declares) const;
  void take_open(const CudaSession& session, cuda::Launch& launch, std::span<const ValuePtr> inputs,
                 std::span<ValuePtr> outputs, bool declares) const;

  const CudaSegment segment_;
  cuda::LaneThreads& threads_;
  const std::uint32_t first_lane_;
  mutable std::vector<Lane> by_lane_;  ///< of its partition
  mutable cuda::LaneSet lanes_ = 0;
  /// Of the first session; none: of open size.
  mutable std::vector<std::optional<cuda::TensorInfo>> inputs_, outputs_;
  mutable std::atomic<bool> lies_{false};  ///< about sizes of outputs, as a run of any lane found
};

}  // namespace engine::ort
