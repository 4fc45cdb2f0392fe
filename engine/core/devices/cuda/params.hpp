// What only a CUDA device is opened with.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace engine {

namespace cuda {
class Backend;
}  // namespace cuda

/// What compiles and chooses the kernels of sessions on a GPU.
struct CudaProviders {
  /// Whether TensorRT comes before ONNX Runtime's own kernels, which take what it does not.
  bool tensorrt = false;
  /// Where TensorRT keeps what it compiled, which takes minutes; empty: nowhere.
  std::string engines = {};

  bool operator==(const CudaProviders&) const = default;
  /// The same with a provider by its name in the first place; empty: as it is. Throws
  /// std::invalid_argument for a name that nobody knows.
  [[nodiscard]] CudaProviders with(const std::string& provider) const {
    if (provider.empty()) return *this;
    if (provider != "tensorrt")
      throw std::invalid_argument("ONNX Runtime has no provider '" + provider + "' for CUDA");
    return {true, engines};
  }
};

struct CudaParams {
  int ordinal = 0;                        ///< CUDA's number of the GPU
  int instance = 0;                       ///< of several in a machine that are the same GPU
  int sms = 0;                            ///< SMs of a partition; 0: the whole GPU
  bool allows_tf32 = false;               ///< whether float32 may be multiplied in TF32
  CudaProviders providers = {};           ///< of its sessions
  std::string driver = {};                ///< CUDA's driver; empty: the usual name
  std::string library = {};               ///< CUDA's runtime library; empty: the usual names
  std::size_t reserve_bytes = 0;          ///< device memory that is taken at the start
  std::size_t staging_bytes = 64U << 20;  ///< pinned host memory for copies
  int queue_depth = 4;                    ///< most submissions in a stream at a time
  int lanes_at_once = 1;                  ///< that a kernel is opened on with its plan
  /// Whether each of several lanes has a thread for submissions that take long (lane_threads.hpp);
  /// else the device's own thread makes all.
  bool lane_threads = true;
  /// Whether closing a lost device resets CUDA in this process, so that the GPU can perhaps be
  /// opened again, of which NVIDIA promises nothing; the last machine that has it open does.
  /// Answers are then copied out of pinned memory, which a reset frees.
  bool resets_when_lost = false;
  std::shared_ptr<const cuda::Backend> backend = nullptr;  ///< what its values and kernels are
};

}  // namespace engine
