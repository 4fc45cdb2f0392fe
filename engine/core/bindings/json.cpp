// Python's view of the numbers of JSON documents.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/released_gil.hpp"
#include "bindings/value.hpp"
#include "files/json_numbers.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {
namespace {

template <typename Number>
nb::object array_of(std::vector<Number>&& numbers) {
  auto held = std::make_unique<std::vector<Number>>(std::move(numbers));
  Number* const data = held->data();
  const std::size_t count = held->size();
  const nb::capsule owner(
      held.get(), [](void* all) noexcept { delete static_cast<std::vector<Number>*>(all); });
  static_cast<void>(held.release());
  return nb::cast(nb::ndarray<nb::numpy, Number, nb::ndim<1>>(data, {count}, owner));
}

nb::tuple take_json_numbers(const nb::bytes& document, const std::string& mark, std::size_t least) {
  JsonParts parts;
  {
    const std::string_view text(document.c_str(), document.size());
    const ReleasedGil released;
    parts = take_numbers(text, mark, least);
  }
  nb::list arrays;
  for (JsonNumbers& numbers : parts.arrays) {
    arrays.append(numbers.reals.empty() ? array_of(std::move(numbers.integers))
                                        : array_of(std::move(numbers.reals)));
  }
  return nb::make_tuple(nb::bytes(parts.rest.data(), parts.rest.size()), arrays);
}

using Flat = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Number>
bool write_as(const Flat& numbers, std::string& text) {
  if (numbers.dtype() != nb::dtype<Number>()) return false;
  const ReleasedGil released;
  text = json_of(std::span(static_cast<const Number*>(numbers.data()), numbers.size()));
  return true;
}

nb::bytes text_of(const Flat& numbers) {
  std::string text;
  if (!write_as<double>(numbers, text) && !write_as<std::int64_t>(numbers, text) &&
      !write_as<std::uint64_t>(numbers, text))
    throw nb::value_error("expected numbers of float64, int64 or uint64");
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_json(nb::module_& m) {
  m.def("take_json_numbers", &take_json_numbers, "document"_a, "mark"_a, "least"_a,
        nb::sig("def take_json_numbers(document: bytes, mark: str, least: int) -> "
                "tuple[bytes, list[numpy.ndarray]]"),
        R"(Take the arrays of numbers out of a JSON document's members "data", without the GIL.

Those of at least ``least`` numbers and nothing else, nested as a tensor is.

Parameters
----------
mark
    What no document can hold by accident, without what JSON escapes.

Returns
-------
bytes
    The document; a text, ``mark`` and a place in the list, stands for each array.
list of array
    Flat; of int64 where all are integers, else of float64.)");
  m.def("json_of", &text_of, "numbers"_a, nb::sig("def json_of(numbers: numpy.ndarray) -> bytes"),
        R"(Finite numbers, flat, of float64, int64 or uint64, as a JSON array, without the GIL.

Raises
------
ValueError
    If they are of another type.)");
}

}  // namespace engine
