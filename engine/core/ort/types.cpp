#include "ort/types.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace engine::ort {
namespace {

// Indexed by ONNX's number, 0 (undefined) to 26 (int2).
constexpr std::array<std::size_t, 27> kBits = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                               64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};

// Both number alike up to float4e2m1, then each its own way.
constexpr int kLastCommon = 23;
constexpr std::array<std::pair<int, int>, 3> kOnnxToOrt = {{
    {24, 26},  // float8e8m0
    {25, 24},  // uint2
    {26, 25},  // int2
}};

}  // namespace

std::size_t element_bits(int elem_type) noexcept {
  const auto index = static_cast<std::size_t>(elem_type);
  return index < kBits.size() ? kBits[index] : 0;
}

std::size_t packed_bytes(int elem_type, std::size_t count) noexcept {
  return (count * element_bits(elem_type) + 7) / 8;
}

int to_ort(int elem_type) {
  if (elem_type >= 1 && elem_type <= kLastCommon) return elem_type;
  for (const auto& [onnx, ort] : kOnnxToOrt) {
    if (onnx == elem_type) return ort;
  }
  throw std::invalid_argument("there is no ONNX element type " + std::to_string(elem_type));
}

int from_ort(int ort_type) noexcept {
  for (const auto& [onnx, ort] : kOnnxToOrt) {
    if (ort == ort_type) return onnx;
  }
  return ort_type;
}

}  // namespace engine::ort
