// Whether an ONNX file multiplies float32 numbers, which TF32 would round; read without ONNX
// Runtime.
#pragma once

#include <string_view>

namespace engine {

/// Whether an operator that GPUs may compute in TF32 (convolutions, products of matrices, recurrent
/// layers, or one that is not of ONNX itself) reads float32, or what nobody can say the type of.
/// Types are those that the file declares; a node makes what it casts to, or else the type of its
/// first floating input. O(bytes of the model's text).
[[nodiscard]] bool multiplies_float32(std::string_view model);

}  // namespace engine
