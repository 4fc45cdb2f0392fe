// ONNX Runtime's values and kernels on a CUDA device.
#pragma once

#include <memory>

#include "devices/cuda/kernel.hpp"
#include "devices/cuda/params.hpp"

namespace engine {

/// For one device, on the GPU of that number. Values are ONNX Runtime's tensors of fixed-size
/// elements. Sessions that are not open yet (ort/source.hpp) are opened on ONNX Runtime's CUDA
/// provider, one for each lane; other kernels are computed by the host (cuda/host_kernel.hpp).
/// What multiplies float32 is rounded to TF32 only where that is allowed, or TensorRT decides.
[[nodiscard]] std::shared_ptr<const cuda::Backend> make_ort_cuda_backend(
    int ordinal, bool allows_tf32 = false, CudaProviders providers = {});

}  // namespace engine
