// Element types: ONNX's numbers (TensorProto.DataType) outside, ONNX Runtime's inside.
#pragma once

#include <cstddef>

namespace engine::ort {

/// ONNX's numbers that the code names.
enum ElemType : int {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
};

/// Bits of one element, 0 for strings and for types that do not exist. O(1).
[[nodiscard]] std::size_t element_bits(int elem_type) noexcept;

/// Bytes of `count` elements, types below 8 bits packed.
[[nodiscard]] std::size_t packed_bytes(int elem_type, std::size_t count) noexcept;

/// ONNX Runtime's number of an ONNX element type. Throws std::invalid_argument when it has none.
[[nodiscard]] int to_ort(int elem_type);

/// ONNX's number of an ONNX Runtime element type.
[[nodiscard]] int from_ort(int ort_type) noexcept;

}  // namespace engine::ort
