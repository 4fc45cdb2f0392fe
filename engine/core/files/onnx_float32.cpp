#include "files/onnx_float32.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "files/onnx_fields.hpp"

namespace engine {

namespace {

using namespace onnx;

constexpr std::uint64_t unknown = 0, float32 = 1;
constexpr int deepest = 100;  ///< of bodies in bodies, as protobuf's own readers have it
constexpr std::array<std::uint64_t, 4> floating{float32, 10, 11, 16};  // half, double, bfloat16
constexpr std::array<std::string_view, 11> multiplying{
    "Conv", "ConvTranspose", "DeformConv", "MatMul", "Gemm",     "Einsum",
    "RNN",  "GRU",           "LSTM",       "DFT",    "Attention"};

/// By name; those of an outer graph are seen from a body.
using Types = std::map<std::string_view, std::uint64_t>;

struct Node {
  std::vector<std::string_view> inputs, outputs, bodies;
  std::string_view op_type = {}, domain = {};
  std::uint64_t made = unknown;  ///< what an attribute says that it makes
};

bool is_floating(std::uint64_t type) { return std::ranges::find(floating, type) != floating.end(); }

template <typename Use>
void for_each(std::string_view message, Use&& use) {
  Fields fields(message);
  while (const auto field = fields.next()) use(*field);
}

void read_value(std::string_view message, Types& types) {
  std::string_view name;
  std::uint64_t type = unknown;
  for_each(message, [&](const Field& field) {
    if (field.id == value_name) name = field.bytes;
    if (field.id != value_type) return;
    for_each(field.bytes, [&](const Field& kind) {
      if (kind.id != type_tensor) return;
      for_each(kind.bytes, [&](const Field& tensor) {
        if (tensor.id == tensor_type_elem) type = tensor.number;
      });
    });
  });
  if (type != unknown) types[name] = type;
}

void read_initializer(std::string_view message, Types& types) {
  std::string_view name;
  std::uint64_t type = unknown;
  for_each(message, [&](const Field& field) {
    if (field.id == tensor_name) name = field.bytes;
    if (field.id == tensor_type) type = field.number;
  });
  types[name] = type;
}

void read_attribute(std::string_view message, Node& node) {
  std::string_view name, tensor;
  std::uint64_t number = unknown;
  for_each(message, [&](const Field& field) {
    if (field.id == attribute_name) name = field.bytes;
    if (field.id == attribute_i) number = field.number;
    if (field.id == attribute_t) tensor = field.bytes;
    if (field.id == attribute_g || field.id == attribute_graphs) node.bodies.push_back(field.bytes);
  });
  if (name == "to" || name == "dtype") node.made = number;
  if (name != "value") return;
  for_each(tensor, [&](const Field& field) {
    if (field.id == tensor_type) node.made = field.number;
  });
}

Node read_node(std::string_view message) {
  Node node;
  for_each(message, [&](const Field& field) {
    if (field.id == node_input) node.inputs.push_back(field.bytes);
    if (field.id == node_output) node.outputs.push_back(field.bytes);
    if (field.id == node_op_type) node.op_type = field.bytes;
    if (field.id == node_domain) node.domain = field.bytes;
    if (field.id == node_attribute) read_attribute(field.bytes, node);
  });
  return node;
}

bool multiplies(const Node& node) {
  const bool is_onnx = node.domain.empty() || node.domain == "ai.onnx";
  return !is_onnx || std::ranges::find(multiplying, node.op_type) != multiplying.end();
}

bool graph_multiplies(std::string_view graph, Types types, int depth);

/// Whether the node does; notes what it makes.
bool node_multiplies(const Node& node, Types& types, int depth) {
  std::vector<std::uint64_t> read;
  for (const std::string_view input : node.inputs)
    if (const auto known = types.find(input); known != types.end() && is_floating(known->second))
      read.push_back(known->second);
  const std::uint64_t made = node.made != unknown ? node.made : read.empty() ? unknown : read[0];
  for (const std::string_view output : node.outputs) types.try_emplace(output, made);
  if (std::ranges::any_of(node.bodies,
                          [&](auto body) { return graph_multiplies(body, types, depth + 1); }))
    return true;
  const auto is_known = [&](std::string_view input) {
    const auto found = types.find(input);
    return input.empty() || (found != types.end() && found->second != unknown);
  };
  return multiplies(node) && (std::ranges::find(read, float32) != read.end() ||
                              !std::ranges::all_of(node.inputs, is_known));
}

bool graph_multiplies(std::string_view graph, Types types, int depth) {
  if (depth > deepest) return true;  // nobody has looked
  for_each(graph, [&](const Field& field) {
    if (field.id == graph_input || field.id == graph_output || field.id == graph_value_info)
      read_value(field.bytes, types);
    if (field.id == graph_initializer) read_initializer(field.bytes, types);
  });
  bool any = false;
  for_each(graph, [&](const Field& field) {
    if (field.id == graph_node) any = node_multiplies(read_node(field.bytes), types, depth) || any;
  });
  return any;
}

}  // namespace

bool multiplies_float32(std::string_view model) {
  bool any = false;
  for_each(model, [&](const Field& field) {
    if (field.id == model_graph) any = graph_multiplies(field.bytes, {}, 0) || any;
  });
  return any;
}

}  // namespace engine
