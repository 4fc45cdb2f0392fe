// Arrays of numbers as Python hands them over and gets them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "query.hpp"

namespace placement {

using Numbers = nanobind::ndarray<const std::int64_t, nanobind::ndim<1>, nanobind::c_contig,
                                  nanobind::device::cpu>;
using Rows = nanobind::ndarray<const std::int64_t, nanobind::ndim<2>, nanobind::c_contig,
                               nanobind::device::cpu>;
using Column = nanobind::ndarray<nanobind::numpy, std::int64_t, nanobind::ndim<1>>;
using Table = nanobind::ndarray<nanobind::numpy, std::int64_t, nanobind::ndim<2>>;

/// As long as the arrays live.
inline Placed placed(const Numbers& device_of, const Numbers& priority, bool is_fifo,
                     const std::optional<Rows>& holds) {
  Placed found{{device_of.data(), device_of.size()}, {priority.data(), priority.size()}, is_fifo};
  if (!holds) return found;
  if (holds->shape(1) != 3) throw std::invalid_argument("holds: three columns expected");
  found.holds = {holds->data(), holds->size()};
  return found;
}

/// An array that owns its numbers.
template <typename Array, typename Number, typename... Shape>
Array array(std::vector<Number> numbers, Shape... shape) {
  auto data = std::make_unique<std::vector<Number>>(std::move(numbers));
  Number* const begin = data->data();
  const nanobind::capsule owner(
      data.release(), [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  return {begin, {shape...}, owner};
}

}  // namespace placement
