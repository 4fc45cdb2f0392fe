// An output whose size the data decide, laid such that one sees whether a run has computed it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/openvino/api.hpp"
#include "kernels/openvino/tensors.hpp"

namespace engine::kernels::openvino {

/// Stands for an extent of a port that the data decide.
constexpr std::int64_t any_extent = -1;

/// The smallest shape that holds a mark, with the extents that are known; none where none does, as
/// one of these is 0.
[[nodiscard]] std::optional<std::vector<std::int64_t>> marking_shape(
    std::span<const std::int64_t> extents, int elem_type);

/// A tensor of the library's own memory, which a run resizes to what it makes. It keeps the memory
/// of the largest. One run at a time.
class UnsizedOutput {
 public:
  /// `type` is OpenVINO's number; `marking` is marking_shape() of `extents`. `api` outlives it.
  /// Throws std::runtime_error.
  UnsizedOutput(const Api& api, int type, std::span<const std::int64_t> extents,
                std::vector<std::int64_t> marking);

  /// What a request takes: of no bytes, since one of the marking shape may be larger than the port
  /// ever is, which a request refuses; mark() does not ask it.
  [[nodiscard]] const OvTensor* tensor() const noexcept { return tensor_.get(); }
  /// Before each run. Throws std::runtime_error.
  void mark();
  /// After one: none where it was not computed. Throws std::runtime_error.
  [[nodiscard]] std::optional<Made> made() const;

 private:
  const Api& api_;
  std::vector<std::int64_t> marking_;
  Handle<OvTensor> tensor_;
};

}  // namespace engine::kernels::openvino
