// Tensors of OpenVINO: shapes as it takes them, and what is in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/openvino/api.hpp"

namespace engine::kernels::openvino {

/// Looks at `extents`, which the library only reads.
[[nodiscard]] OvShape shape_of(std::span<const std::int64_t> extents);

/// What a run made of an output.
struct Made {
  std::vector<std::int64_t> shape;
  const void* data;  ///< the library's, until the next run; null where there are no bytes
  std::size_t bytes;
};

/// Throws std::runtime_error.
[[nodiscard]] Made contents(const Api& api, const OvTensor* tensor);

}  // namespace engine::kernels::openvino
