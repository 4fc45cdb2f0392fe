#include "onnx_weights.hpp"

#include <charconv>
#include <optional>
#include <utility>

namespace engine {

namespace {

// Numbers of onnx.proto's fields.
constexpr std::uint64_t model_graph = 7;
constexpr std::uint64_t graph_initializer = 5;
constexpr std::uint64_t tensor_dims = 1, tensor_type = 2, tensor_name = 8, tensor_raw_data = 9,
                        tensor_external_data = 13;
constexpr std::uint64_t entry_key = 1, entry_value = 2;

/// One field of a message: a number or bytes.
struct Field {
  std::uint64_t id = 0;
  std::uint64_t number = 0;
  std::string_view bytes = {};
};

/// Reads the fields of one message; ends at the first that makes no sense.
class Fields {
 public:
  explicit Fields(std::string_view message) : left_(message) {}

  std::optional<Field> next() {
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

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

 private:
  std::optional<Field> take(std::uint64_t size, Field field) {
    if (size > left_.size()) return std::nullopt;
    field.bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return field;
  }

  std::string_view left_;
};

void read_entry(std::string_view message, OnnxWeight& weight) {
  std::string_view key, value;
  Fields fields(message);
  while (const auto field = fields.next()) {
    if (field->id == entry_key) key = field->bytes;
    if (field->id == entry_value) value = field->bytes;
  }
  if (key == "location") weight.location = value;
  if (key == "offset") std::from_chars(value.data(), value.data() + value.size(), weight.offset);
  if (key == "length") std::from_chars(value.data(), value.data() + value.size(), weight.bytes);
}

OnnxWeight read_tensor(std::string_view model, std::string_view message) {
  OnnxWeight weight;
  Fields fields(message);
  while (const auto field = fields.next()) {
    if (field->id == tensor_name) weight.name = field->bytes;
    if (field->id == tensor_type) weight.elem_type = static_cast<int>(field->number);
    if (field->id == tensor_external_data) read_entry(field->bytes, weight);
    if (field->id == tensor_dims && field->bytes.empty()) {
      weight.shape.push_back(static_cast<std::int64_t>(field->number));
    } else if (field->id == tensor_dims) {
      Fields packed(field->bytes);
      while (const auto extent = packed.varint())
        weight.shape.push_back(static_cast<std::int64_t>(*extent));
    }
    if (field->id == tensor_raw_data) {
      weight.offset = static_cast<std::uint64_t>(field->bytes.data() - model.data());
      weight.bytes = field->bytes.size();
    }
  }
  return weight;
}

}  // namespace

std::vector<OnnxWeight> onnx_weights(std::string_view model, std::uint64_t least_bytes) {
  std::vector<OnnxWeight> weights;
  Fields of_model(model);
  while (const auto graph = of_model.next()) {
    if (graph->id != model_graph) continue;
    Fields of_graph(graph->bytes);
    while (const auto field = of_graph.next()) {
      if (field->id != graph_initializer) continue;
      OnnxWeight weight = read_tensor(model, field->bytes);
      if (!weight.name.empty() && weight.bytes > 0 && weight.bytes >= least_bytes)
        weights.push_back(std::move(weight));
    }
  }
  return weights;
}

}  // namespace engine
