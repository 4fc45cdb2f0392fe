#include "devices/cuda/host_kernel.hpp"

#include <cstring>

namespace engine::cuda {

std::vector<ValuePtr> HostKernel::copy_out(Launch& launch, std::span<const ValuePtr> inputs) const {
  std::vector<ValuePtr> on_host(inputs.size());
  std::vector<Memory> pinned(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const auto& value = static_cast<const CudaValue&>(*inputs[i]);
    pinned[i] = launch.allocate_pinned(value.bytes());
    if (value.bytes() > 0)
      launch.api().copy_async(pinned[i].get(), value.data(), value.bytes(), device_to_host,
                              launch.stream());
  }
  launch.api().stream_synchronize(launch.stream());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i])
      on_host[i] = backend_.make_host(std::move(pinned[i]),
                                      static_cast<const CudaValue&>(*inputs[i]).info());
  return on_host;
}

void HostKernel::enqueue(Launch& launch, std::span<const ValuePtr> inputs,
                         std::span<ValuePtr> outputs) const {
  std::vector<ValuePtr> made(outputs.size());
  kernel_->execute(copy_out(launch, inputs), made, nullptr);
  std::vector<Memory> pinned;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) continue;
    const Backend::HostTensor host = backend_.read(*made[i]);
    Memory memory = launch.allocate(host.info.bytes);
    if (host.info.bytes > 0) {
      pinned.push_back(launch.allocate_pinned(host.info.bytes));
      std::memcpy(pinned.back().get(), host.data, host.info.bytes);
      launch.api().copy_async(memory.get(), pinned.back().get(), host.info.bytes, host_to_device,
                              launch.stream());
    }
    outputs[i] = std::make_shared<CudaValue>(std::move(memory), host.info);
  }
  launch.api().stream_synchronize(launch.stream());
}

}  // namespace engine::cuda
