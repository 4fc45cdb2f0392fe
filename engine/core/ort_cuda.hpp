// ONNX Runtime's values and kernels on a CUDA device.
#pragma once

#include <memory>

#include "cuda_kernel.hpp"

namespace engine {

/// Values are ONNX Runtime's tensors of fixed-size elements. Kernels are computed by the host
/// (cuda_host_kernel.hpp): sessions on ONNX Runtime's CUDA provider do not exist yet.
[[nodiscard]] std::shared_ptr<const cuda::Backend> make_ort_host_backend();

}  // namespace engine
