#include "devices/cuda/gpu.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "devices/cuda/captures.hpp"

namespace engine::cuda {

namespace {

/// How many devices of the process each GPU is open for, and whether one lost it. A reset takes
/// away all that any of them has on the GPU, so it is for the last one; what callers still hold of
/// devices that were closed before must not be freed after it. Thread-safe.
class OpenDevices {
 public:
  void add(int ordinal, const std::shared_ptr<DevicePool>& memory,
           const std::shared_ptr<PinnedPool>& pinned) {
    const std::lock_guard lock(mutex_);
    Gpu& gpu = gpus_[ordinal];
    ++gpu.devices;
    std::erase_if(gpu.memories, [](const auto& pool) { return pool.expired(); });
    std::erase_if(gpu.pinned, [](const auto& pool) { return pool.expired(); });
    gpu.memories.push_back(memory);
    gpu.pinned.push_back(pinned);
  }
  /// Whether the GPU is to be reset now.
  bool remove(int ordinal, bool is_lost) {
    const std::lock_guard lock(mutex_);
    Gpu& gpu = gpus_[ordinal];
    gpu.is_lost |= is_lost;
    return --gpu.devices == 0 && std::exchange(gpu.is_lost, false);
  }
  /// The GPU is about to be reset: nothing that was had of it is freed any more.
  void forget_memory(int ordinal) {
    const std::lock_guard lock(mutex_);
    Gpu& gpu = gpus_[ordinal];
    for (const auto& weak : std::exchange(gpu.memories, {}))
      if (const auto pool = weak.lock()) pool->forget();
    for (const auto& weak : std::exchange(gpu.pinned, {}))
      if (const auto pool = weak.lock()) pool->forget();
  }

 private:
  struct Gpu {
    int devices = 0;
    bool is_lost = false;
    std::vector<std::weak_ptr<DevicePool>> memories;
    std::vector<std::weak_ptr<PinnedPool>> pinned;
  };
  std::mutex mutex_;
  std::map<int, Gpu> gpus_;
};

OpenDevices& open_devices() {
  static OpenDevices devices;
  return devices;
}

std::uint32_t lanes_of(const std::vector<DeviceParams>& devices) {
  std::uint32_t lanes = 0;
  for (const DeviceParams& device : devices) lanes += static_cast<std::uint32_t>(device.lanes);
  return lanes;
}

}  // namespace

Gpu::Gpu(const GpuParams& opened, Machine& machine, EventCount& news)
    : params(opened.partitions.front().get<CudaParams>()),
      name(opened.partitions.front().name),
      in_stream(lanes_of(opened.partitions)),
      out_stream(in_stream + 1),
      memory_bytes_(opened.partitions.front().memory_bytes),
      others_(opened.others),
      threads_(machine, news, in_stream) {
  std::uint32_t first_lane = 0;
  for (const DeviceParams& device : opened.partitions) {
    const auto lanes = static_cast<std::uint32_t>(device.lanes);
    partitions.emplace_back(device, first_lane, lanes);
    first_lane += lanes;
  }
}

void Gpu::open() {
  api_ = std::make_shared<const Api>(params.library);
  // First of all: where the GPU that threads begin with is lost, a thread's other calls fail.
  const bool is_current = api_->set_device.code(params.ordinal) == 0;
  int devices = 0;
  api_->device_count(&devices);
  if (params.ordinal >= devices)
    throw std::invalid_argument("device '" + name + "': " + "GPU " +
                                std::to_string(params.ordinal) + " does not exist, there are " +
                                std::to_string(devices));
  if (!is_current) api_->set_device(params.ordinal);
  ignore_captures_of_others(*api_);
  reach_others();
  divide();
  streams_ = std::make_unique<Streams>(
      api_, out_stream + 1, [this](std::uint32_t stream) { return make_stream(stream); });
  memory_ = std::make_shared<DevicePool>(api_, *streams_,
                                         DevicePool::Params{.pools = in_stream + 1,
                                                            .limit_bytes = memory_bytes_,
                                                            .reserve_bytes = params.reserve_bytes});
  pinned_ = std::make_shared<PinnedPool>(api_, params.staging_bytes);
  threads_.open(api_, params.ordinal, params.lane_threads);
  open_devices().add(params.ordinal, memory_, pinned_);
}

std::string Gpu::bus_id() const {
  std::array<char, 64> text{};
  api_->bus_id(text.data(), static_cast<int>(text.size() - 1), params.ordinal);
  return text.data();
}

/// Lets copies from the machine's other GPUs come directly. Where that cannot be, CUDA takes them
/// through the host's memory.
void Gpu::reach_others() const noexcept {
  for (const int other : others_) {
    int can = 0;
    if (api_->can_access_peer.code(&can, params.ordinal, other) == 0 && can != 0)
      api_->enable_peer_access.code(other, 0);  // or another machine of the process did
  }
  api_->last_error.code();  // what was refused is no error of those who ask next
}

/// Divides the GPU where that was asked for and can be done.
void Gpu::divide() {
  std::vector<unsigned> sms;
  for (const Partition& partition : partitions)
    if (partition.params.get<CudaParams>().sms > 0)
      sms.push_back(static_cast<unsigned>(partition.params.get<CudaParams>().sms));
  if (sms.empty()) return;
  try {
    const auto driver = std::make_shared<const Driver>(params.driver);
    green_contexts_ = std::make_unique<Partitions>(driver, params.ordinal, sms);
  } catch (const std::runtime_error& error) {
    warning = "the GPU is not divided, its partitions share all SMs: " + std::string(error.what());
  }
}

/// A lane of a green context, or null.
StreamHandle Gpu::make_stream(std::uint32_t stream) {
  if (green_contexts_ == nullptr || stream >= in_stream) return nullptr;
  const auto partition = std::ranges::find_if(partitions, [stream](const Partition& part) {
    return stream - part.first_lane < part.lanes;  // unsigned: false before it, too
  });
  try {
    return green_contexts_->make_stream(static_cast<std::size_t>(partition - partitions.begin()));
  } catch (const std::runtime_error& error) {
    warning = "lanes of a partition run on the whole GPU: " + std::string(error.what());
    return nullptr;
  }
}

void Gpu::close() {
  threads_.stop();
  const bool is_due = open_devices().remove(params.ordinal, health.is_lost());
  const bool resets = is_due && params.resets_when_lost;
  if (resets) {
    open_devices().forget_memory(params.ordinal);
  } else {
    memory_->close();
    pinned_->close();
  }
  for (std::uint32_t lane = 0; params.backend && lane < in_stream; ++lane)
    params.backend->forget(streams_->handle(lane));
  streams_.reset();
  green_contexts_.reset();
  if (resets) api_->device_reset.code();
}

bool Gpu::look() noexcept {
  try {
    return streams_->poll();
  } catch (const std::exception& error) {
    health.fatal = error.what();
    return false;
  }
}

void Gpu::settle() {
  while (health.is_well() && !streams_->is_idle())
    if (!look()) std::this_thread::yield();
}

void Gpu::mark_lanes() noexcept {
  try {
    for (std::uint32_t lane = 0; !health.is_lost() && lane < in_stream; ++lane)
      static_cast<void>(streams_->record(lane));
  } catch (const std::exception& error) {
    health.fatal = error.what();
  }
}

DeviceParts Gpu::parts(std::size_t partition) {
  const Partition& part = partitions[partition];
  return {api_, *streams_, *memory_, *pinned_, threads_, part.first_lane, part.lanes};
}

}  // namespace engine::cuda
