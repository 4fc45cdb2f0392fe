#include "bindings/small_arrays.hpp"

#include <cstdint>
#include <cstring>

#include "bindings/value.hpp"
#include "ort/value.hpp"

namespace nb = nanobind;

namespace engine {

namespace {

/// Up to here a copy costs less than keeping the value.
constexpr std::size_t kSmallBytes = 1024;

/// A block begins so, and each array in it: what numpy's own memory is aligned to.
constexpr std::size_t kAlignment = 16;

/// A small tensor, and where its copy is.
struct Place {
  ort::TensorType type;
  const void* data = nullptr;  // null where it is none
  std::size_t bytes = 0;
  std::size_t offset = 0;
};

/// Of numbers that numpy has a type for.
Place place_of(const ort::OnnxValue& value, std::size_t offset) {
  if (value.kind() != ort::ValueKind::kTensor) return {};
  Place place{.type = value.tensor_type(), .offset = offset};
  const int elem_type = place.type.elem_type;
  if (elem_type == ort::kString || elem_type > ort::kComplex128) return {};
  place.bytes = ort::element_bits(elem_type) / 8;
  for (const std::int64_t extent : place.type.shape) {
    if (extent > static_cast<std::int64_t>(kSmallBytes)) return {};
    place.bytes *= static_cast<std::size_t>(extent);
    if (place.bytes > kSmallBytes) return {};
  }
  place.data = place.bytes > 0 ? value.data() : "";
  return place;
}

nb::object tuple_of(const std::vector<std::int64_t>& extents) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(extents.size())));
  if (!tuple.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    PyObject* const extent = PyLong_FromLongLong(extents[i]);
    if (extent == nullptr) throw nb::python_error();
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), extent);
  }
  return tuple;
}

}  // namespace

const nb::object& SmallArrays::dtype(int elem_type) const {
  nb::object& known = dtypes_[static_cast<std::size_t>(elem_type)];
  if (!known.is_valid()) {
    char nothing[kAlignment] = {};
    known = array_over(nothing, elem_type, {}, nb::none()).attr("dtype");
  }
  return known;
}

std::vector<nb::object> SmallArrays::of(std::span<const ValuePtr> values) const {
  std::vector<nb::object> arrays(values.size());
  std::vector<Place> places;
  places.reserve(values.size());
  std::size_t end = 0;
  bool has_small = false;
  for (const ValuePtr& value : values) {
    places.push_back(place_of(static_cast<const ort::OnnxValue&>(*value), end));
    has_small = has_small || places.back().data != nullptr;
    end += (places.back().bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (!has_small) return arrays;
  // numpy takes no place at the end of a buffer, even for nothing.
  const auto size = static_cast<Py_ssize_t>(end + kAlignment);
  const nb::object block = nb::steal(PyByteArray_FromStringAndSize(nullptr, size));
  if (!block.is_valid()) throw nb::python_error();
  char* const data = PyByteArray_AS_STRING(block.ptr());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Place& place = places[i];
    if (place.data == nullptr) continue;
    std::memcpy(data + place.offset, place.data, place.bytes);
    const nb::object shape = tuple_of(place.type.shape);
    const nb::object offset = nb::steal(PyLong_FromSize_t(place.offset));
    PyObject* const arguments[] = {shape.ptr(), dtype(place.type.elem_type).ptr(), block.ptr(),
                                   offset.ptr()};
    arrays[i] = nb::steal(PyObject_Vectorcall(array_type_.ptr(), arguments, 4, nullptr));
    if (!arrays[i].is_valid()) throw nb::python_error();
  }
  return arrays;
}

}  // namespace engine
