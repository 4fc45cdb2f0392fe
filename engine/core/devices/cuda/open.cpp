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

constexpr int max_lanes = static_cast<int>(max_streams - copy_streams);

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

void require(bool holds, const DeviceParams& params, const std::string& what) {
  if (!holds) throw std::invalid_argument("device '" + params.name + "': " + what);
}

}  // namespace

void check(const DeviceParams& params) {
  require(params.lanes <= max_lanes, params,
          "lanes of a CUDA device must be 1 to " + std::to_string(max_lanes) + ", got " +
              std::to_string(params.lanes));
  require(params.cuda.ordinal >= 0, params, "ordinal must be >= 0");
  require(params.cuda.queue_depth >= 1, params, "queue_depth must be >= 1");
  require(params.cuda.lanes_at_once >= 1, params, "lanes_at_once must be >= 1");
  require(params.cuda.backend != nullptr, params, "a CUDA device needs a backend");
}

void check_alone(const std::vector<DeviceParams>& devices) {
  std::vector<const DeviceParams*> parts;
  int lanes = 0;
  for (const DeviceParams& device : devices) {
    if (device.kind != "cuda") continue;
    parts.push_back(&device);
    lanes += device.lanes;
  }
  for (const DeviceParams* part : parts) {
    require(part->cuda.ordinal == parts[0]->cuda.ordinal, *part, "a machine has one GPU at most");
    require(part->cuda.allows_tf32 == parts[0]->cuda.allows_tf32, *part,
            "partitions of a GPU all allow TF32, or none");
    require(parts.size() == 1 || part->cuda.sms > 0, *part,
            "a GPU is one device, or each of its devices a partition of some SMs");
    require(lanes <= max_lanes, *part,
            "the partitions of a GPU have at most " + std::to_string(max_lanes) + " lanes");
  }
  for (const DeviceParams& device : devices)
    require(parts.empty() || device.kind != "emulated", device,
            "an emulated device cannot exchange values with a CUDA device");
}

void CudaDevice::open() {
  api_ = std::make_shared<const Api>(params_.cuda.library);
  int devices = 0;
  api_->device_count(&devices);
  require(params_.cuda.ordinal < devices, params_,
          "GPU " + std::to_string(params_.cuda.ordinal) + " does not exist, there are " +
              std::to_string(devices));
  api_->set_device(params_.cuda.ordinal);
  ignore_captures_of_others(*api_);
  divide();
  streams_ = std::make_unique<Streams>(
      api_, out_stream_ + 1, [this](std::uint32_t stream) { return make_stream(stream); });
  memory_ =
      std::make_shared<DevicePool>(api_, *streams_,
                                   DevicePool::Params{.pools = in_stream_ + 1,
                                                      .limit_bytes = params_.memory_bytes,
                                                      .reserve_bytes = params_.cuda.reserve_bytes});
  pinned_ = std::make_shared<PinnedPool>(api_, params_.cuda.staging_bytes);
  open_devices().add(params_.cuda.ordinal);
}

/// Divides the GPU where that was asked for and can be done.
void CudaDevice::divide() {
  std::vector<unsigned> sms;
  for (const Partition& partition : partitions_)
    if (partition.params.cuda.sms > 0)
      sms.push_back(static_cast<unsigned>(partition.params.cuda.sms));
  if (sms.empty()) return;
  try {
    const auto driver = std::make_shared<const Driver>(params_.cuda.driver);
    green_contexts_ = std::make_unique<Partitions>(driver, params_.cuda.ordinal, sms);
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
  const bool is_due = open_devices().remove(params_.cuda.ordinal, !lost_.empty());
  const bool resets = is_due && params_.cuda.resets_when_lost;
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
