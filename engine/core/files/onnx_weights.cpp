#include "files/onnx_weights.hpp"

#include <charconv>
#include <utility>

#include "files/onnx_fields.hpp"

namespace engine {

namespace {

using namespace onnx;

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
  std::string_view raw;
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
    if (field->id == tensor_raw_data) raw = field->bytes;
  }
  // Nothing that a file says without naming another is a place in the model itself.
  if (weight.location.empty()) {
    weight.offset = raw.empty() ? 0 : static_cast<std::uint64_t>(raw.data() - model.data());
    weight.bytes = raw.size();
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
