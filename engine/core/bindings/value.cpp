// Python's surplus.engine._core.Value: numpy in, numpy out.
// Long because both ways stand side by side, for each kind of content.
#include "bindings/value.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "bindings/buffer.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {
namespace {

using ort::OnnxValue;
using Shape = std::vector<std::int64_t>;

const OnnxValue& onnx(const PyValue& value) { return static_cast<const OnnxValue&>(*value.value); }

std::string text(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

/// Whether items of this struct-module code may be read as the element type: the same numbers,
/// or unsigned integers of the same width as their raw bits.
bool format_fits(std::string_view format, std::size_t item_bytes, int elem_type) {
  static constexpr std::string_view kCodes[] = {
      "", "f", "B", "b", "H", "h", "il", "lq", "", "?", "e", "d", "IL", "LQ", "Zf", "Zd", "",
  };
  if (!format.empty() && std::string_view("@=<").find(format.front()) != std::string_view::npos)
    format.remove_prefix(1);
  if (item_bytes * 8 != ort::element_bits(elem_type)) return false;
  const auto index = static_cast<std::size_t>(elem_type);
  if (elem_type > ort::kComplex128)
    return std::string_view("BHILQ").find(format) != std::string_view::npos;
  if (elem_type == ort::kFloat16 && format == "H") return true;
  return !format.empty() && kCodes[index].find(format) != std::string_view::npos;
}

void check_format(const PyBuffer& buffer, nb::handle array, int elem_type) {
  if (buffer_holds(buffer, elem_type)) return;
  throw nb::value_error(("an array of dtype " + text(array.attr("dtype").attr("str")) +
                         " does not hold elements of ONNX type " + std::to_string(elem_type))
                            .c_str());
}

/// The array's own buffer, or that of a copy where it has gaps or is not aligned.
PyBuffer contiguous(nb::handle array) {
  try {
    PyBuffer buffer(array.ptr());
    if (buffer.aligned()) return buffer;
  } catch (const nb::python_error&) {
    // not contiguous, or no buffer at all; then the copy's fails, too, and says why
  }
  const nb::object copy = array.attr("copy")("C");
  return PyBuffer(copy.ptr());
}

/// What a str or bytes holds; `encoded` keeps it where Python does not.
std::string_view utf8(nb::handle item, std::vector<nb::bytes>& encoded) {
  if (PyUnicode_Check(item.ptr())) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(item.ptr(), &size);
    if (text != nullptr) return {text, static_cast<std::size_t>(size)};
    PyErr_Clear();  // half of a surrogate pair, or a byte that was none of UTF-8
    encoded.push_back(nb::cast<nb::bytes>(item.attr("encode")("utf-8", "surrogateescape")));
  } else if (PyBytes_Check(item.ptr())) {
    return {PyBytes_AS_STRING(item.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(item.ptr()))};
  } else {
    throw nb::value_error(
        ("a tensor of strings holds str or bytes, not " + text(item.type().attr("__name__")))
            .c_str());
  }
  return {encoded.back().c_str(), encoded.back().size()};
}

/// Of a buffer of Python objects.
std::vector<std::string_view> texts(const PyBuffer& buffer, std::vector<nb::bytes>& encoded) {
  const std::span items(static_cast<PyObject* const*>(buffer.data()),
                        buffer.bytes() / sizeof(PyObject*));
  std::vector<std::string_view> strings;
  strings.reserve(items.size());
  for (PyObject* const item : items)
    strings.push_back(utf8(item == nullptr ? Py_None : item, encoded));
  return strings;
}

PyValue from_numpy(nb::handle array, int elem_type) {
  release_deferred_buffers();
  PyBuffer buffer = contiguous(array);
  if (elem_type == ort::kString) return {strings_of(buffer)};
  check_format(buffer, array, elem_type);
  const Shape shape = buffer.shape();
  void* data = buffer.data();
  const std::size_t bytes = buffer.bytes();
  return {ort::wrap_tensor(data, bytes, elem_type, shape, std::move(buffer).take())};
}

PyValue from_packed(nb::handle array, int elem_type, const Shape& shape) {
  release_deferred_buffers();
  PyBuffer buffer = contiguous(array);
  void* data = buffer.data();
  const std::size_t bytes = buffer.bytes();
  return {ort::wrap_tensor(data, bytes, elem_type, shape, std::move(buffer).take())};
}

PyValue zeros(int elem_type, const Shape& shape) {
  if (elem_type == ort::kString) {
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    return {ort::make_strings(std::vector<std::string_view>(count), shape)};
  }
  const auto made = ort::make_tensor(elem_type, shape);
  std::memset(made->data(), 0, made->bytes());
  return {made};
}

PyValue sequence(const std::vector<PyValue>& items, int elem_type) {
  if (items.empty()) return {ort::make_empty_sequence(elem_type)};
  std::vector<ValuePtr> values;
  for (const PyValue& item : items) values.push_back(item.value);
  return {ort::make_sequence(values)};
}

std::string kind(const PyValue& value) {
  switch (onnx(value).kind()) {
    case ort::ValueKind::kTensor:
      return "tensor";
    case ort::ValueKind::kSequence:
      return "sequence";
    case ort::ValueKind::kMap:
      return "map";
    default:
      return "optional_none";
  }
}

int elem_type(const PyValue& value) {
  const OnnxValue& inner = onnx(value);
  return inner.kind() == ort::ValueKind::kTensor ? inner.elem_type() : 0;
}

nb::dlpack::dtype array_dtype(int elem_type) {
  using Code = nb::dlpack::dtype_code;
  const auto bits = static_cast<std::uint8_t>(ort::element_bits(elem_type));
  const auto of = [bits](Code code) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), bits, 1};
  };
  switch (elem_type) {
    case ort::kFloat:
    case ort::kDouble:
    case ort::kFloat16:
      return of(Code::Float);
    case ort::kInt8:
    case ort::kInt16:
    case ort::kInt32:
    case ort::kInt64:
      return of(Code::Int);
    case ort::kBool:
      return of(Code::Bool);
    case ort::kComplex64:
    case ort::kComplex128:
      return of(Code::Complex);
    default:
      return of(Code::UInt);
  }
}

nb::object str_of(std::string_view text) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object strings_to_numpy(const OnnxValue& value) {
  const nb::object shape = nb::cast(value.shape());
  const nb::object array =
      nb::module_::import_("numpy").attr("empty")(nb::tuple(shape), "dtype"_a = "O");
  const PyBuffer buffer(array.ptr());
  auto* place = static_cast<PyObject**>(buffer.data());
  value.for_each_string([&](std::string_view text) {
    PyObject* const before = std::exchange(*place++, str_of(text).release().ptr());
    Py_XDECREF(before);
  });
  return array;
}

/// The parts of a map, which are tensors, as Python's own objects.
std::vector<nb::object> objects_of(const OnnxValue& tensor, int elem_type) {
  std::vector<nb::object> objects;
  if (elem_type == ort::kString) {
    tensor.for_each_string([&](std::string_view text) { objects.push_back(str_of(text)); });
    return objects;
  }
  const std::size_t count = tensor.bytes() * 8 / ort::element_bits(elem_type);
  const void* const data = tensor.data();
  const auto append = [&](const auto* numbers) {
    for (const auto number : std::span(numbers, count)) objects.push_back(nb::cast(number));
  };
  objects.reserve(count);
  switch (elem_type) {
    case ort::kInt64:
      append(static_cast<const std::int64_t*>(data));
      break;
    case ort::kFloat:
      append(static_cast<const float*>(data));
      break;
    case ort::kDouble:
      append(static_cast<const double*>(data));
      break;
    default:
      throw std::runtime_error("a map of ONNX type " + std::to_string(elem_type));
  }
  return objects;
}

/// Element types of the keys and the values of maps: the same for all of a sequence.
struct MapTypes {
  explicit MapTypes(const OnnxValue& map)
      : key(map.part(0).elem_type()), value(map.part(1).elem_type()) {}

  int key;
  int value;
};

nb::dict dict_of(const OnnxValue& map, const MapTypes& types) {
  const std::vector<nb::object> keys = objects_of(map.part(0), types.key);
  const std::vector<nb::object> values = objects_of(map.part(1), types.value);
  nb::dict made;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (PyDict_SetItem(made.ptr(), keys[i].ptr(), values[i].ptr()) != 0) throw nb::python_error();
  }
  return made;
}

/// None where these are no maps.
nb::object dicts(const PyValue& value) {
  const OnnxValue& inner = onnx(value);
  nb::list found;
  if (inner.kind() == ort::ValueKind::kMap) {
    found.append(dict_of(inner, MapTypes(inner)));
    return found;
  }
  if (inner.kind() != ort::ValueKind::kSequence) return nb::none();
  const std::size_t count = inner.part_count();
  if (count == 0) return found;
  const OnnxValue first = inner.part(0);
  if (first.kind() != ort::ValueKind::kMap) return nb::none();
  const MapTypes types(first);
  found.append(dict_of(first, types));
  for (std::size_t i = 1; i < count; ++i) found.append(dict_of(inner.part(i), types));
  return found;
}

std::vector<PyValue> items(const PyValue& value) {
  std::vector<PyValue> wrapped;
  for (ValuePtr& item : onnx(value).items()) wrapped.push_back({std::move(item)});
  return wrapped;
}

}  // namespace

nb::list zip_rows(const PyValue& rows, const nb::list& keys,
                  const std::vector<std::size_t>& columns) {
  const OnnxValue& tensor = onnx(rows);
  const Shape shape = tensor.shape();
  const std::size_t count = nb::len(keys);
  const bool is_one = shape.size() == 1;
  const auto width = static_cast<std::size_t>(shape.empty() ? 1 : shape.back());
  if (tensor.elem_type() != ort::kFloat || shape.empty() || shape.size() > 2 || width != count ||
      columns.size() != count)
    throw nb::value_error(
        ("rows of " + std::to_string(width) + " for " + std::to_string(count) + " labels of ZipMap")
            .c_str());
  for (const std::size_t column : columns)
    if (column >= width) throw nb::value_error("a column that the rows do not have");
  const auto* values = static_cast<const float*>(tensor.data());
  const auto many = static_cast<std::size_t>(is_one ? 1 : shape.front());
  nb::list found;
  for (std::size_t row = 0; row < many; ++row, values += width) {
    nb::dict made;
    for (std::size_t i = 0; i < count; ++i) {
      const nb::object number = nb::steal(PyFloat_FromDouble(values[columns[i]]));
      if (!number.is_valid()) throw nb::python_error();
      if (PyDict_SetItem(made.ptr(), PyList_GET_ITEM(keys.ptr(), static_cast<Py_ssize_t>(i)),
                         number.ptr()) != 0)
        throw nb::python_error();
    }
    found.append(made);
  }
  return found;
}

nb::object array_over(void* data, int elem_type, std::span<const std::int64_t> extents,
                      nb::handle owner) {
  const nb::dlpack::dtype dtype = array_dtype(elem_type);
  const std::vector<std::size_t> shape(extents.begin(), extents.end());
  return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, dtype));
}

bool is_tensor(const PyValue& value) { return onnx(value).kind() == ort::ValueKind::kTensor; }

ValuePtr strings_of(const PyBuffer& buffer) {
  if (std::string_view(buffer.format()) != "O")
    throw nb::value_error("a tensor of strings is an array of objects");
  std::vector<nb::bytes> encoded;
  return ort::make_strings(texts(buffer, encoded), buffer.shape());
}

bool buffer_holds(const PyBuffer& buffer, int elem_type) {
  return format_fits(buffer.format(), buffer.item_bytes(), elem_type);
}

nb::object value_to_numpy(nb::handle self) {
  release_deferred_buffers();
  const OnnxValue& value = onnx(nb::cast<const PyValue&>(self));
  const int elem_type = value.elem_type();
  if (elem_type == ort::kString) return strings_to_numpy(value);
  if (ort::element_bits(elem_type) < 8) {  // packed: the bytes as they are
    const Shape extents{static_cast<std::int64_t>(value.bytes())};
    return array_over(value.data(), ort::kUint8, extents, self);
  }
  return array_over(value.data(), elem_type, value.shape(), self);
}

void bind_value(nb::module_& m) {
  nb::class_<PyValue>(m, "Value",
                      R"(An immutable ONNX value: tensor, sequence, map, or absent optional.

Element types are numbers of ``onnx.TensorProto.DataType``. Safe to share between threads.)")
      .def_static("from_numpy", &from_numpy, "array"_a, "elem_type"_a,
                  nb::sig("def from_numpy(array: numpy.ndarray, elem_type: int) -> Value"),
                  R"(Wrap an array, without a copy where it is C-contiguous and aligned.

Parameters
----------
array
    Kept alive and not to be written to. Types that numpy lacks (bfloat16, float8) come as
    unsigned integers of the same width, strings as an object array of str or bytes.
elem_type
    The ONNX element type; types below 8 bits go through `from_packed`.

Raises
------
ValueError
    The array's dtype, byte order included, does not hold that type.)")
      .def_static("from_packed", &from_packed, "data"_a, "elem_type"_a, "shape"_a,
                  nb::sig("def from_packed(data: numpy.ndarray, elem_type: int, "
                          "shape: collections.abc.Sequence[int]) -> Value"),
                  R"(Wrap the raw bytes of a tensor, elements below 8 bits packed low bits first.

Raises
------
ValueError
    The number of bytes does not fit the shape.)")
      .def_static("zeros", &zeros, "elem_type"_a, "shape"_a,
                  nb::sig("def zeros(elem_type: int, shape: collections.abc.Sequence[int]) "
                          "-> Value"),
                  "A tensor of zeros, or of empty strings, made without numpy.")
      .def_static("sequence", &sequence, "items"_a, "elem_type"_a = 1,
                  "A sequence of tensors; `elem_type` is what an empty one would hold.")
      .def_prop_ro("kind", &kind, "'tensor', 'sequence', 'map' or 'optional_none'.")
      .def_prop_ro("elem_type", &elem_type, "ONNX element type of a tensor, 0 for other kinds.")
      .def_prop_ro(
          "shape", [](const PyValue& value) { return nb::tuple(nb::cast(onnx(value).shape())); },
          nb::sig("def shape(self) -> tuple[int, ...]"),
          "Extents of a tensor; RuntimeError for other kinds.")
      .def_prop_ro(
          "nbytes", [](const PyValue& value) { return value.value->bytes(); },
          "Bytes of the elements, those of a sequence's items counted.")
      .def("to_numpy", &value_to_numpy, nb::sig("def to_numpy(self) -> numpy.ndarray"),
           R"(The tensor as an array over the same memory, which it keeps alive.

Types that numpy lacks come as unsigned integers of the same width, those below 8 bits as
their packed bytes in one dimension, strings as an object array of str (a copy).)")
      .def("dicts", &dicts, nb::sig("def dicts(self) -> list[dict[typing.Any, typing.Any]] | None"),
           "The maps of a sequence, or the map itself alone; None for what holds no maps.")
      .def(
          "arrays", &sequence_arrays, nb::sig("def arrays(self) -> list[numpy.ndarray] | None"),
          R"(The tensors of a sequence, copied; None for what holds none, or what numpy has no type for.

Small ones share one allocation.)")
      .def("zip_rows", &zip_rows, "keys"_a, "columns"_a,
           nb::sig("def zip_rows(self, keys: list[typing.Any], columns: "
                   "collections.abc.Sequence[int]) -> list[dict[typing.Any, float]]"),
           R"(A dict for each row of a tensor of floats: the i-th key and the number in its column.

Raises
------
ValueError
    The rows have more or fewer columns than there are keys.)")
      .def("items", &items, "The tensors of a sequence; of a map [keys, values].");
}

}  // namespace engine
