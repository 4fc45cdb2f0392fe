// Device memory that one captured graph keeps for itself.
#pragma once

#include <memory>
#include <vector>

#include "devices/cuda/memory.hpp"

namespace engine::cuda {

/// Takes chunks of the device's pool and gives them back as a whole when it goes, so that nothing
/// else uses an address that the graph has. Its streams must record a point soon after that. Work
/// that ran once finds all the memory here that it needs again: capturing it asks nothing of the
/// device. The device's thread only.
class PrivatePool : public std::enable_shared_from_this<PrivatePool> {
 public:
  /// For work of stream `lane`. Both outlive it.
  PrivatePool(DevicePool& memory, const Streams& streams, std::uint32_t lane)
      : memory_(memory), streams_(streams), lane_(lane) {}
  PrivatePool(const PrivatePool&) = delete;
  PrivatePool& operator=(const PrivatePool&) = delete;
  ~PrivatePool();

  /// As DevicePool::allocate.
  [[nodiscard]] Memory allocate(std::size_t bytes);

 private:
  DevicePool& memory_;
  const Streams& streams_;
  const std::uint32_t lane_;
  Ranges ranges_;
  std::vector<Memory> chunks_;
};

}  // namespace engine::cuda
