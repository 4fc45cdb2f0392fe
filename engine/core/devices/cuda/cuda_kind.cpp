#include <set>
#include <utility>

#include "devices/cuda/cuda_device.hpp"
#include "devices/kinds.hpp"

namespace engine::cuda {

namespace {

constexpr const char* kind_name = "cuda";

void check(const DeviceParams& params) {
  const auto own = params.get<CudaParams>();
  params.require(params.lanes <= max_lanes, "lanes of a CUDA device must be 1 to " +
                                                std::to_string(max_lanes) + ", got " +
                                                std::to_string(params.lanes));
  params.require(own.ordinal >= 0, "ordinal must be >= 0");
  params.require(own.instance >= 0, "instance must be >= 0");
  params.require(own.queue_depth >= 1, "queue_depth must be >= 1");
  params.require(own.lanes_at_once >= 1, "lanes_at_once must be >= 1");
  params.require(own.backend != nullptr, "a CUDA device needs a backend");
}

int ordinal_of(const DeviceParams& device) { return device.get<CudaParams>().ordinal; }

/// What has a submitting thread of its own.
std::pair<int, int> opened_as(const DeviceParams& device) {
  const auto own = device.get<CudaParams>();
  return {own.ordinal, own.instance};
}

/// The GPU, as one of its instances, of which a device is all or a part.
GpuParams gpu_of(std::span<const DeviceParams> all, const DeviceParams& device) {
  GpuParams gpu;
  std::set<int> others;
  for (std::uint32_t place = 0; place < all.size(); ++place) {
    if (all[place].kind != kind_name) continue;
    if (opened_as(all[place]) == opened_as(device)) {
      gpu.partitions.push_back(all[place]);
      gpu.executors.push_back(place);
    } else {
      others.insert(ordinal_of(all[place]));
    }
  }
  others.erase(ordinal_of(device));
  gpu.others.assign(others.begin(), others.end());
  return gpu;
}

/// Each GPU is whole or in partitions.
void check_gpu(const std::vector<DeviceParams>& parts) {
  const auto first = parts[0].get<CudaParams>();
  int lanes = 0;
  for (const DeviceParams& part : parts) lanes += part.lanes;
  for (const DeviceParams& part : parts) {
    const auto own = part.get<CudaParams>();
    part.require(own.allows_tf32 == first.allows_tf32,
                 "partitions of a GPU all allow TF32, or none");
    part.require(own.providers == first.providers, "partitions of a GPU all use TensorRT, or none");
    part.require(parts.size() == 1 || own.sms > 0,
                 "a GPU is one device, or each of its devices a partition of some SMs");
    part.require(lanes <= max_lanes,
                 "the partitions of a GPU have at most " + std::to_string(max_lanes) + " lanes");
  }
}

void check_together(std::span<const DeviceParams> all) {
  for (const DeviceParams& device : all)
    if (device.kind == kind_name) check_gpu(gpu_of(all, device).partitions);
  for (const DeviceParams& device : all)
    device.require(!kind_of(device).emulates_memory,
                   "values in emulated memory cannot be exchanged with a CUDA device");
}

/// The first device of a GPU is the GPU itself, the others stand for a partition each.
std::unique_ptr<Device> open(const Opening& opening) {
  for (const auto& device : opening.earlier)
    if (auto* gpu = dynamic_cast<CudaDevice*>(device.get());
        gpu != nullptr && std::pair(gpu->ordinal(), gpu->instance()) == opened_as(opening.params()))
      return std::make_unique<CudaPartition>(opening.params(), opening.place, *gpu);
  return std::make_unique<CudaDevice>(gpu_of(opening.all, opening.params()), opening.machine);
}

}  // namespace

DeviceKind cuda_kind() {
  return {.name = kind_name, .open = open, .check = check, .check_together = check_together};
}

}  // namespace engine::cuda
