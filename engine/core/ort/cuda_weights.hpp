// The weights of all sessions on a GPU: one copy, however many lanes and plans use it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "devices/cuda/kernel.hpp"
#include "files/onnx_weights.hpp"
#include "ort/session.hpp"

namespace engine::ort {

/// A constant tensor in a GPU's memory.
struct CudaWeight {
  cuda::Memory memory;
  Handle<OrtValue> tensor;  ///< over that memory
};

/// As AddInitializer takes it: name in the model, tensor. Outlives the session.
using NamedWeight = std::pair<std::string, std::shared_ptr<const CudaWeight>>;

/// The text of a model in a file. Throws std::runtime_error if it cannot be read.
[[nodiscard]] std::string read_all(const std::string& path);

/// Weights by where they come from: a range of a file as it is now. For a device's submitting
/// thread.
class CudaWeights {
 public:
  /// Smaller ones stay with their sessions: among them are those that kernels want on the host.
  static constexpr std::uint64_t least_bytes = 1024;

  /// `info` says where they lie, and outlives it.
  explicit CudaWeights(const OrtMemoryInfo* info) : info_(info) {}

  /// Those of a model whose text is `content`; what the GPU does not have yet is there on return.
  /// On an idle GPU. Throws std::runtime_error if a file cannot be read, cuda::Error.
  [[nodiscard]] std::vector<NamedWeight> of(const SessionParams& model, std::string_view content,
                                            const cuda::DeviceParts& device);

 private:
  using WeightPtr = std::shared_ptr<const CudaWeight>;

  [[nodiscard]] WeightPtr find(const std::string& path, const OnnxWeight& weight,
                               const cuda::DeviceParts& device);
  [[nodiscard]] WeightPtr make(const OnnxWeight& weight, cuda::Memory memory) const;

  const OrtMemoryInfo* const info_;
  std::map<std::string, std::weak_ptr<const CudaWeight>> known_;
};

}  // namespace engine::ort
