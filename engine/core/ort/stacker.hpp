// Queries of an ONNX model that are put on top of one another.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/stacker.hpp"

namespace engine {

/// What queries that are stacked have as an input: tensors of these extents behind the leading one.
struct StackedInput {
  int elem_type;
  std::vector<std::int64_t> extents;
};

/// Stacks along the leading axis of all inputs, and takes all outputs apart along theirs. Throws
/// std::invalid_argument without an input, and for an element type of less than a byte or of none.
[[nodiscard]] std::shared_ptr<const Stacker> make_ort_stacker(std::vector<StackedInput> inputs);

}  // namespace engine
