// Whether numbers are those that other libraries compute with as ONNX says.
#pragma once

#include <cstddef>

namespace engine::kernels {

/// Whether all of a tensor's numbers are finite and its whole ones in 32 bits (signed). One pass
/// over floating-point numbers and integers of 32 unsigned or 64 bits, none over other types.
[[nodiscard]] bool are_usual(int elem_type, const void* data, std::size_t bytes) noexcept;

}  // namespace engine::kernels
