// Nodes of a plan that call a compiled function instead of a session (include/surplus_segment.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "devices/kernel.hpp"

namespace engine {

/// What the model says of an output; unknown extents are -1, an unknown shape is left out.
struct DeclaredTensor {
  int elem_type = 0;  ///< ONNX's number; 0: unknown
  std::optional<std::vector<std::int64_t>> shape = {};
};

struct CompiledParams {
  std::string library_path;
  std::string symbol;
  std::size_t inputs = 0;                    ///< values of the plan that it reads
  std::vector<ValuePtr> constants = {};      ///< tensors that the function reads after these
  std::vector<DeclaredTensor> outputs = {};  ///< by output
  int lanes = 1;                             ///< that it occupies
};

/// A kernel over tensors of the ort layer; ONNX Runtime must be open. What the function says of its
/// outputs is checked in each run. Keeps as many workspaces and states as it had runs at once, one
/// at least.
///
/// Throws std::runtime_error naming library and symbol: see find_compiled_segment(), or when the
/// function wants another number of tensors, or makes no state.
[[nodiscard]] std::shared_ptr<const Kernel> make_compiled_kernel(CompiledParams params);

}  // namespace engine
