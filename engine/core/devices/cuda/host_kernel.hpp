// A node of a GPU that the host computes: inputs copied out, outputs copied in, on the lane's
// stream.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "devices/cuda/kernel.hpp"

namespace engine::cuda {

/// For checks of everything around the kernels, and where a GPU has none: its answers are the
/// host's. Whoever launches it computes, and waits for its stream, so it is slow.
class HostKernel final : public CudaKernel {
 public:
  /// `backend` outlives the kernel.
  HostKernel(std::shared_ptr<const Kernel> kernel, const Backend& backend)
      : kernel_(std::move(kernel)), backend_(backend) {}

  void enqueue(Launch& launch, std::span<const ValuePtr> inputs,
               std::span<ValuePtr> outputs) const override;

 private:
  [[nodiscard]] std::vector<ValuePtr> copy_out(Launch& launch,
                                               std::span<const ValuePtr> inputs) const;

  const std::shared_ptr<const Kernel> kernel_;
  const Backend& backend_;
};

}  // namespace engine::cuda
