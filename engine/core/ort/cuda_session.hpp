// One ONNX Runtime session on the stream of one lane of a GPU, run through a binding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devices/cuda/kernel.hpp"
#include "devices/cuda/params.hpp"
#include "ort/cuda_allocator.hpp"
#include "ort/cuda_weights.hpp"
#include "ort/source.hpp"
#include "ort/value.hpp"

namespace engine::ort {

/// What cuBLAS takes of a GPU's memory for each handle by the text of CUBLAS_WORKSPACE_CONFIG, as
/// in ":4096:2:16:8": pairs of KiB and a count. 0 for what is none.
[[nodiscard]] std::size_t workspace_bytes(std::string_view config) noexcept;
/// Counts what a session makes cuBLAS take, by what the process's environment says, towards the
/// pool's limit: once for all sessions of a lane where they share it. Throws cuda::Error of code
/// out_of_memory.
[[nodiscard]] std::shared_ptr<const void> count_workspace(cuda::DevicePool& memory,
                                                          std::uint32_t lane);

/// What the sessions of one segment have in common, on whatever lane.
struct CudaSegment {
  std::shared_ptr<const SessionSource> source;
  CudaAllocator& allocator;
  int ordinal;  ///< of the GPU
  std::vector<NamedWeight> weights;
  /// Whether products may be rounded to TF32. Without, ONNX Runtime's convolutions use no tensor
  /// cores at all, of half precision neither.
  bool uses_tf32;
  CudaProviders providers;
};

/// ONNX Runtime refused the memory that an output was bound to: the model declares a wrong shape.
class ShapeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Opened, run first and destroyed by one thread, and run by one at a time: ONNX Runtime keeps
/// CUDA's library handles by thread during a run, and graphs for good, so with Mode::capture all
/// runs are that thread's. No other session runs while one is destroyed: it is looked for among
/// what each thread keeps. A run submits to the lane's stream and does not wait; what it reads and
/// writes stays as it is until the stream has passed that.
///
/// Bindings hold for one run: an output that the run allocated would be written again by the next.
class CudaSession {
 public:
  /// Whether the second and later runs replay what the first captured, at the same addresses.
  enum class Mode { launch, capture };

  /// On an idle GPU; the session's own memory is of `launch`, its stream that one's. `segment`
  /// outlives it. Throws cuda::Error if the device is lost, std::runtime_error with ONNX Runtime's
  /// reason.
  CudaSession(const CudaSegment& segment, cuda::Launch& launch, Mode mode = Mode::launch);

  /// What the inputs and outputs of the node are, in its order; none where a size is open. Throws
  /// std::runtime_error naming what is not a tensor of numbers.
  [[nodiscard]] std::vector<std::optional<cuda::TensorInfo>> input_infos() const;
  [[nodiscard]] std::vector<std::optional<cuda::TensorInfo>> output_infos() const;

  void bind_input(std::size_t index, const cuda::CudaValue& value);
  void bind_output(std::size_t index, const cuda::CudaValue& value);
  /// The run allocates it.
  void bind_open_output(std::size_t index);
  void unbind() noexcept;

  /// Submits a run of what is bound. `drains`: waits for it, too, which alone makes ONNX Runtime
  /// give back the pinned memory that some of its kernels leave to the end of such a run. Throws
  /// cuda::Error if the device is lost, ShapeError, std::runtime_error with ONNX Runtime's reason.
  void run(cuda::Launch& launch, bool drains = false);
  /// The outputs of that run in the order of binding, those that were given included.
  [[nodiscard]] std::vector<std::shared_ptr<const OnnxValue>> outputs() const;

 private:
  void open(cuda::Launch& launch, Mode mode);
  [[nodiscard]] Handle<OrtValue> tensor_over(const cuda::CudaValue& value) const;

  const CudaSegment& segment_;
  const Api& api_;
  std::unique_ptr<InferenceSession> session_;
  Handle<OrtIoBinding> binding_;
  Handle<OrtRunOptions> options_, draining_;
};

}  // namespace engine::ort
