// One cuBLAS handle for the sessions of a lane (cublas/cublas_lanes.cpp), where that library is in
// front of cuBLAS.
#pragma once

#include "devices/cuda/api.hpp"

namespace engine::ort {

/// Whether sessions that are opened in a SharedCublas share a handle.
[[nodiscard]] bool shares_cublas() noexcept;

/// As long as it lives, cuBLAS handles that this thread makes are the lane's one handle. One at a
/// time on a thread.
class SharedCublas {
 public:
  explicit SharedCublas(cuda::StreamHandle lane) noexcept;
  SharedCublas(const SharedCublas&) = delete;
  SharedCublas& operator=(const SharedCublas&) = delete;
  ~SharedCublas();

  /// The lane's stream is about to go, its sessions with it, or kept for good.
  static void forget(cuda::StreamHandle lane) noexcept;
};

}  // namespace engine::ort
