// Numpy arrays of a query's small outputs.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "devices/kernel.hpp"
#include "ort/types.hpp"

namespace engine {

/// Copies small tensors into one block and makes arrays over it: an array that keeps an ONNX
/// Runtime value costs three times as much. Call with the GIL.
class SmallArrays {
 public:
  /// `array_type` is numpy.ndarray.
  explicit SmallArrays(nanobind::object array_type) : array_type_(std::move(array_type)) {}

  /// An array for each of these values, none where it is no small tensor of numbers.
  [[nodiscard]] std::vector<nanobind::object> of(std::span<const ValuePtr> values) const;

 private:
  /// numpy's of an element type.
  [[nodiscard]] const nanobind::object& dtype(int elem_type) const;

  nanobind::object array_type_;
  mutable std::array<nanobind::object, ort::kComplex128 + 1> dtypes_;  // as they are met
};

}  // namespace engine
