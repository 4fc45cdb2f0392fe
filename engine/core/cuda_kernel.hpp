// What executes segments on a GPU, and how its values are made of host values and back.
#pragma once

#include <memory>
#include <span>

#include "cuda_value.hpp"

namespace engine::cuda {

/// One submission: the stream of its lane, and memory for what it makes. The stream already waits
/// for all inputs.
class Launch {
 public:
  Launch(const Api& api, Streams& streams, DevicePool& memory, PinnedPool& pinned,
         std::uint32_t lane)
      : api_(api), streams_(streams), memory_(memory), pinned_(pinned), lane_(lane) {}
  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] std::uint32_t lane() const noexcept { return lane_; }
  [[nodiscard]] StreamHandle stream() const noexcept { return streams_.handle(lane_); }
  /// Throws Error of code out_of_memory.
  [[nodiscard]] Memory allocate(std::size_t bytes) { return memory_.allocate(lane_, bytes); }
  /// Pinned host memory; the caller keeps it until the stream has passed its use.
  [[nodiscard]] Memory allocate_pinned(std::size_t bytes) { return pinned_.allocate(bytes, true); }

 private:
  const Api& api_;
  Streams& streams_;
  DevicePool& memory_;
  PinnedPool& pinned_;
  const std::uint32_t lane_;
};

/// What a device has for its kernels. Used by its submitting thread only; lives as long as they.
struct DeviceParts {
  const Api& api;
  Streams& streams;
  DevicePool& memory;
  PinnedPool& pinned;
  std::uint32_t lanes;  ///< streams 0 to lanes - 1
};

/// A segment on a GPU. Called by the device's submitting thread only.
class CudaKernel : public Kernel {
 public:
  /// Submits the work to the launch's stream and makes the outputs (CudaValues), whose content is
  /// there when the stream comes that far. Does not wait. `inputs` are CudaValues, or null where an
  /// optional input is absent. Throws std::exception when it fails.
  virtual void enqueue(Launch& launch, std::span<const ValuePtr> inputs,
                       std::span<ValuePtr> outputs) const = 0;
  /// Always throws: a GPU's kernel has no meaning without a stream.
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const final;
};

/// Ties a CudaDevice to a kind of values and kernels. Thread-safe.
class Backend {
 public:
  struct HostTensor {
    const void* data = nullptr;
    TensorInfo info;
  };

  virtual ~Backend() = default;
  /// Throws std::runtime_error for what has no place in a GPU's memory, such as strings.
  [[nodiscard]] virtual HostTensor read(const Value& host) const = 0;
  /// A host value over `memory`, which it keeps.
  [[nodiscard]] virtual ValuePtr make_host(Memory memory, const TensorInfo& info) const = 0;
  /// What runs a kernel that was built for a node of this device. On the submitting thread, where
  /// it is also run and destroyed. Throws std::runtime_error.
  [[nodiscard]] virtual std::shared_ptr<const CudaKernel> adapt(
      std::shared_ptr<const Kernel> kernel, const DeviceParts& device) const = 0;
};

}  // namespace engine::cuda
