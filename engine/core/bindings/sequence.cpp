// Sequences of tensors as lists of numpy arrays, in one call: a part costs as much as in ONNX
// Runtime's own module.
#include <nanobind/nanobind.h>

#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "bindings/value.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace nb = nanobind;

namespace engine {
namespace {

using ort::OnnxValue;
using Shape = std::vector<std::int64_t>;

/// Parts from here on are arrays over memory of their own: who keeps one keeps no others.
constexpr std::size_t kLargePartBytes = std::size_t{4} << 10;

/// From here on it is worth asking whether all parts are alike, and can be copied at once.
constexpr std::size_t kManyParts = 16;

/// Whether numpy has the type, and no part of it needs Python to look at.
bool is_of_numbers(int elem_type) {
  return elem_type != ort::kString && elem_type <= ort::kComplex128;
}

nb::list arrays_of_their_own(const OnnxValue& sequence) {
  nb::list found;
  for (ValuePtr& part : sequence.items())
    found.append(value_to_numpy(nb::cast(PyValue{std::move(part)})));
  return found;
}

/// The bytes of all parts one after another, and the shape of each.
class SequenceParts {
 public:
  SequenceParts(std::size_t count, std::size_t first_bytes) {
    content_.reserve(count * first_bytes + 1);  // numpy wants an address, even of nothing
    shapes_.reserve(count);
  }

  void add(const OnnxValue& part) {
    Shape shape = part.shape();
    are_alike_ = are_alike_ && (shapes_.empty() || shape == shapes_.front());
    shapes_.push_back(std::move(shape));
    const auto* const data = static_cast<const char*>(part.data());
    content_.insert(content_.end(), data, data + part.bytes());
  }

  /// Arrays over one copy of the bytes.
  [[nodiscard]] nb::list arrays(int elem_type) && {
    const std::size_t item_bytes = ort::element_bits(elem_type) / 8;
    const auto items = static_cast<std::int64_t>(content_.size() / item_bytes);
    auto owned = std::make_unique<std::vector<char>>(std::move(content_));
    char* const data = owned->data();
    const nb::capsule owner(owned.release(),
                            [](void* p) noexcept { delete static_cast<std::vector<char>*>(p); });
    if (are_alike_ && !shapes_.front().empty()) {
      Shape together{static_cast<std::int64_t>(shapes_.size())};
      together.insert(together.end(), shapes_.front().begin(), shapes_.front().end());
      return nb::list(array_over(data, elem_type, together, owner));
    }
    return cut(array_over(data, elem_type, Shape{items}, owner));
  }

 private:
  [[nodiscard]] nb::list cut(const nb::object& flat) const {
    nb::list found;
    std::int64_t begin = 0;
    for (const Shape& shape : shapes_) {
      std::int64_t count = 1;
      for (const std::int64_t extent : shape) count *= extent;
      const nb::object part = flat[nb::slice(begin, begin + count)];
      found.append(part.attr("reshape")(nb::tuple(nb::cast(shape))));
      begin += count;
    }
    return found;
  }

  std::vector<char> content_;
  std::vector<Shape> shapes_;
  bool are_alike_ = true;
};

}  // namespace

nb::object sequence_arrays(const PyValue& value) {
  release_deferred_buffers();
  const auto& sequence = static_cast<const OnnxValue&>(*value.value);
  if (sequence.kind() != ort::ValueKind::kSequence) return nb::none();
  const std::size_t count = sequence.part_count();
  if (count == 0) return nb::list();
  const OnnxValue first = sequence.part(0);
  if (first.kind() != ort::ValueKind::kTensor) return nb::none();
  const int elem_type = first.elem_type();
  if (!is_of_numbers(elem_type)) return nb::none();
  if (first.bytes() >= kLargePartBytes) return arrays_of_their_own(sequence);
  if (count >= kManyParts) {
    if (auto stacked = ort::stack_parts(sequence, elem_type))
      return nb::list(value_to_numpy(nb::cast(PyValue{std::move(stacked)})));
  }
  SequenceParts parts(count, first.bytes());
  parts.add(first);
  for (std::size_t i = 1; i < count; ++i) parts.add(sequence.part(i));
  return std::move(parts).arrays(elem_type);
}

}  // namespace engine
