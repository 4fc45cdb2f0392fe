// A tensor in the memory of a GPU.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "devices/cuda/memory.hpp"
#include "devices/kernel.hpp"

namespace engine::cuda {

/// What a tensor is, wherever it lies.
struct TensorInfo {
  std::size_t bytes = 0;
  int elem_type = 0;  ///< ONNX's number
  std::vector<std::int64_t> shape = {};

  bool operator==(const TensorInfo&) const = default;
};

/// It may exist before its content does: whatever reads it must come after `written()`.
class CudaValue final : public Value {
 public:
  CudaValue(Memory memory, TensorInfo info) : memory_(std::move(memory)), info_(std::move(info)) {}
  [[nodiscard]] std::size_t bytes() const noexcept override { return info_.bytes; }
  [[nodiscard]] void* data() const noexcept { return memory_.get(); }
  [[nodiscard]] const TensorInfo& info() const noexcept { return info_; }
  [[nodiscard]] Stamp written() const noexcept { return written_; }
  /// By the device's thread, before the value is published.
  void set_written(Stamp stamp) const noexcept { written_ = stamp; }

 private:
  const Memory memory_;
  const TensorInfo info_;
  mutable Stamp written_;
};

}  // namespace engine::cuda
