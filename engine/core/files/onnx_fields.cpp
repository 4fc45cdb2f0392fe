#include "files/onnx_fields.hpp"

namespace engine::onnx {

std::optional<Field> Fields::next() {
  const auto tag = varint();
  if (!tag) return std::nullopt;
  Field field{.id = *tag >> 3};
  switch (*tag & 7) {
    case 0: {
      const auto number = varint();
      if (!number) return std::nullopt;
      field.number = *number;
      return field;
    }
    case 1:
      return take(8, field);
    case 2: {
      const auto size = varint();
      return size ? take(*size, field) : std::nullopt;
    }
    case 5:
      return take(4, field);
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> Fields::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<Field> Fields::take(std::uint64_t size, Field field) {
  if (size > left_.size()) return std::nullopt;
  field.bytes = left_.substr(0, size);
  left_.remove_prefix(size);
  return field;
}

}  // namespace engine::onnx
