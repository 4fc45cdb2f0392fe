// CUDA's functions that open memory which another process has allocated on a GPU.
#pragma once

#include <array>

#include "devices/cuda/driver.hpp"

namespace engine::cuda {

/// cudaIpcMemHandle_t, which is handed over as it is.
using IpcHandle = std::array<char, 64>;

inline constexpr unsigned open_lazily = 1;  ///< cudaIpcMemLazyEnablePeerAccess, which is required

struct Ipc {
  Ipc(const Library& runtime, const Library& driver)
      : open(runtime, "cudaIpcOpenMemHandle"),
        close(runtime, "cudaIpcCloseMemHandle"),
        range(driver, "cuMemGetAddressRange") {}

  Function<void**, IpcHandle, unsigned> open;
  Function<void*> close;
  /// Begin and size of the allocation that holds an address.
  Function<unsigned long long*, std::size_t*, unsigned long long> range;
};

}  // namespace engine::cuda
