// Which constant tensors an ONNX file has, and where their bytes are; read without ONNX Runtime,
// whose C API names no initializers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

/// One initializer whose bytes are in one piece.
struct OnnxWeight {
  std::string name = {};
  int elem_type = 0;  ///< ONNX's number
  std::vector<std::int64_t> shape = {};
  std::string location = {};  ///< of its file, from the model's folder; empty: the model itself
  std::uint64_t offset = 0;   ///< in that file
  std::uint64_t bytes = 0;
};

/// The initializers of the model's graph (not of the bodies of control flow) of `least_bytes` or
/// more whose data is raw or in an external file with a length; others are left out, as is all
/// behind what is not protobuf. O(bytes of the model's text), no copy of data.
[[nodiscard]] std::vector<OnnxWeight> onnx_weights(std::string_view model,
                                                   std::uint64_t least_bytes);

}  // namespace engine
