// What a CUDA device may be, how it opens and how it closes.
#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "devices/cuda/captures.hpp"
#include "devices/cuda/cuda_device.hpp"

namespace engine::cuda {

namespace {

/// How many devices of the process each GPU is open for, and whether one lost it. A reset takes
/// away all that any of them has on the GPU, so it is for the last one. Thread-safe.
class OpenDevices {
 public:
  void add(int ordinal) {
    const std::lock_guard lock(mutex_);
    ++gpus_[ordinal].devices;
  }
  /// Whether the GPU is to be reset now.
  bool remove(int ordinal, bool is_lost) {
    const std::lock_guard lock(mutex_);
    Gpu& gpu = gpus_[ordinal];
    gpu.is_lost |= is_lost;
    return --gpu.devices == 0 && std::exchange(gpu.is_lost, false);
  }

 private:
  struct Gpu {
    int devices = 0;
    bool is_lost = false;
  };
  std::mutex mutex_;
  std::map<int, Gpu> gpus_;
};

OpenDevices& open_devices() {
  static OpenDevices devices;
  return devices;
}

}  // namespace

void CudaDevice::open() {
  api_ = std::make_shared<const Api>(params_.library);
  int devices = 0;
  api_->device_count(&devices);
  if (params_.ordinal >= devices)
    throw std::invalid_argument("device '" + name() + "': " + "GPU " +
                                std::to_string(params_.ordinal) + " does not exist, there are " +
                                std::to_string(devices));
  api_->set_device(params_.ordinal);
  ignore_captures_of_others(*api_);
  divide();
  streams_ = std::make_unique<Streams>(
      api_, out_stream_ + 1, [this](std::uint32_t stream) { return make_stream(stream); });
  memory_ =
      std::make_shared<DevicePool>(api_, *streams_,
                                   DevicePool::Params{.pools = in_stream_ + 1,
                                                      .limit_bytes = memory_bytes_,
                                                      .reserve_bytes = params_.reserve_bytes});
  pinned_ = std::make_shared<PinnedPool>(api_, params_.staging_bytes);
  open_devices().add(params_.ordinal);
}

/// Divides the GPU where that was asked for and can be done.
void CudaDevice::divide() {
  std::vector<unsigned> sms;
  for (const Partition& partition : partitions_)
    if (partition.params.get<CudaParams>().sms > 0)
      sms.push_back(static_cast<unsigned>(partition.params.get<CudaParams>().sms));
  if (sms.empty()) return;
  try {
    const auto driver = std::make_shared<const Driver>(params_.driver);
    green_contexts_ = std::make_unique<Partitions>(driver, params_.ordinal, sms);
  } catch (const std::runtime_error& error) {
    warning_ = "the GPU is not divided, its partitions share all SMs: " + std::string(error.what());
  }
}

/// A lane of a green context, or null.
StreamHandle CudaDevice::make_stream(std::uint32_t stream) {
  if (green_contexts_ == nullptr || stream >= in_stream_) return nullptr;
  const auto partition = std::ranges::find_if(partitions_, [stream](const Partition& part) {
    return stream - part.first_lane < part.lanes;  // unsigned: false before it, too
  });
  try {
    return green_contexts_->make_stream(static_cast<std::size_t>(partition - partitions_.begin()));
  } catch (const std::runtime_error& error) {
    warning_ = "lanes of a partition run on the whole GPU: " + std::string(error.what());
    return nullptr;
  }
}

/// Sessions first, then memory, then streams. Values that callers still hold keep their chunks.
void CudaDevice::close() {
  calls_->close();
  settle();
  const auto turn = capture_turn();
  for (const auto& slot : kernels_) slot->clear(!lost_.empty() || !fatal_.empty());
  kernels_.clear();
  const bool is_due = open_devices().remove(params_.ordinal, !lost_.empty());
  const bool resets = is_due && params_.resets_when_lost;
  if (resets) {
    memory_->forget();
    pinned_->forget();
  } else {
    memory_->close();
    pinned_->close();
  }
  streams_.reset();
  green_contexts_.reset();
  if (resets) api_->device_reset.code();
}

}  // namespace engine::cuda
