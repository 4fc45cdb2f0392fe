// How a CUDA device makes, captures and drops the kernels of plans, on its submitting thread.
#include <stdexcept>
#include <utility>

#include "cuda_captures.hpp"
#include "cuda_device.hpp"
#include "cuda_graph.hpp"

namespace engine::cuda {

std::shared_ptr<const Kernel> CudaDevice::prepare_on(std::size_t partition,
                                                     std::shared_ptr<const Kernel> kernel) {
  if (auto made = std::dynamic_pointer_cast<const CudaKernel>(kernel))
    return make([&] { return made; });
  return make_when_idle(
      [&] { return params_.cuda.backend->adapt(std::move(kernel), parts(partition)); });
}

std::shared_ptr<const Kernel> CudaDevice::capture_on(std::size_t partition,
                                                     std::shared_ptr<const Kernel> prepared) {
  const auto* slot = dynamic_cast<const KernelSlot*>(prepared.get());
  if (slot == nullptr) return prepared;  // nothing to execute
  return make_when_idle([&]() -> std::shared_ptr<const CudaKernel> {
    return std::make_shared<const CapturedKernel>(slot->kernel(), parts(partition));
  });
}

/// Captures, and sessions that open and fill memory without a stream, allow nothing beside them on
/// this device, and no other of either kind in the process.
std::shared_ptr<const Kernel> CudaDevice::make_when_idle(const KernelMaker& maker) {
  return make([&] {
    settle();
    const auto turn = capture_turn();
    try {
      auto made = maker();
      mark_lanes();
      return made;
    } catch (const Error& error) {
      if (error.is_fatal()) fatal_ = error.what();
      mark_lanes();
      throw;
    } catch (...) {
      mark_lanes();
      throw;
    }
  });
}

/// Makes a kernel on the submitting thread, which also destroys it.
std::shared_ptr<const Kernel> CudaDevice::make(const KernelMaker& maker) {
  // The text and not the exception: two threads would hold and free one.
  std::promise<std::pair<std::shared_ptr<KernelSlot>, std::string>> made;
  const auto call = [&] {
    try {
      if (!lost_.empty()) throw std::runtime_error(lost_);
      auto slot = std::make_shared<KernelSlot>(maker());
      kernels_.insert(slot);
      made.set_value({std::move(slot), {}});
    } catch (const std::exception& error) {
      // Lost before the caller hears of it, who may look at once.
      if (!fatal_.empty()) lose(std::exchange(fatal_, {}));
      made.set_value({nullptr, lost_.empty() ? error.what() : lost_});
    }
  };
  if (!calls_->push(call)) throw std::runtime_error("device '" + name() + "' is closed");
  auto [slot, failure] = made.get_future().get();
  if (slot == nullptr) throw std::runtime_error(failure);
  const Kernel* const handle = slot.get();
  return {handle, [this, calls = calls_, held = slot](const Kernel*) mutable {
            // Refused once the device is closed: then close() has destroyed the kernel.
            calls->push([this, last = std::move(held)] { drop(last); });
          }};
}

void CudaDevice::drop(const std::shared_ptr<KernelSlot>& slot) {
  const auto turn = capture_turn();
  slot->clear(!lost_.empty() || !fatal_.empty());
  kernels_.erase(slot);
  mark_lanes();
  returns_memory_ = true;
}

/// A point in every lane behind all that was submitted without being a node.
void CudaDevice::mark_lanes() noexcept {
  try {
    for (std::uint32_t lane = 0; lost_.empty() && lane < in_stream_; ++lane)
      static_cast<void>(streams_->record(lane));
  } catch (const std::exception& error) {
    fatal_ = error.what();
  }
}

/// Waits until the GPU is idle: for what may not happen beside other work.
void CudaDevice::settle() {
  while (lost_.empty() && fatal_.empty() && !streams_->is_idle())
    if (!look()) std::this_thread::yield();
}

DeviceParts CudaDevice::parts(std::size_t partition) {
  const Partition& part = partitions_[partition];
  return {api_, *streams_, *memory_, *pinned_, part.first_lane, part.lanes};
}

}  // namespace engine::cuda
