// Files of models, as far as the core reads them itself.
#include <utility>

#include "files/onnx_fields.hpp"
#include "files/onnx_float32.hpp"
#include "files/onnx_threads.hpp"
#include "files/onnx_weights.hpp"
#include "frontend/proto.hpp"
#include "mutations.hpp"
#include "target.hpp"

namespace engine::fuzz {

namespace {

using frontend::put_text;
using frontend::put_varint;

std::string number(std::uint32_t field, std::uint64_t value) {
  std::string made;
  put_varint(made, std::uint64_t{field} << 3);
  put_varint(made, value);
  return made;
}

std::string message(std::uint64_t field, std::string_view content) {
  std::string made;
  put_text(made, static_cast<std::uint32_t>(field), content);
  return made;
}

std::string value(std::string_view name, std::uint64_t type) {
  return message(onnx::value_name, name) +
         message(onnx::value_type,
                 message(onnx::type_tensor, number(onnx::tensor_type_elem, type)));
}

std::string entry(std::string_view key, std::string_view content) {
  return message(onnx::tensor_external_data,
                 message(onnx::entry_key, key) + message(onnx::entry_value, content));
}

std::string tensor(std::string_view name, std::string_view data) {
  return number(onnx::tensor_dims, 2) + number(onnx::tensor_dims, 2) +
         number(onnx::tensor_type, 1) + message(onnx::tensor_name, name) + std::string(data);
}

std::string node(std::string_view kind, std::string_view input, std::string_view output,
                 std::string_view attribute = {}) {
  return message(onnx::graph_node,
                 message(onnx::node_input, input) + message(onnx::node_output, output) +
                     message(onnx::node_op_type, kind) + message(onnx::node_attribute, attribute));
}

std::string graph(std::string_view inner) {
  std::string made = message(onnx::graph_input, value("x", 1)) +
                     message(onnx::graph_output, value("y", 10)) +
                     message(onnx::graph_value_info, value("h", 1));
  made += message(onnx::graph_initializer,
                  tensor("w", message(onnx::tensor_raw_data, "0123456789abcdef")));
  made += message(onnx::graph_initializer,
                  tensor("v", entry("location", "weights.bin") + entry("offset", "4096") +
                                  entry("length", "16")));
  const std::string to = message(onnx::attribute_name, "to") + number(onnx::attribute_i, 10);
  made += node("MatMul", "x", "h") + node("Cast", "h", "c", to);
  return made + node("Loop", "c", "y", message(onnx::attribute_g, inner));
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string small = node("Conv", "c", "d"), once = graph(small), twice = graph(once);
  const auto model = [](std::string_view of) {
    return number(1, 8) + message(onnx::model_graph, of) + message(8, number(2, 17));
  };
  return {model(once), model(twice), model(graph(twice)), model(once) + model(small)};
}

std::string mutated(std::string input, Random& random) {
  return random.one_in(8) ? mutated_bytes(std::move(input), random)
                          : mutated_protobuf(input, random);
}

}  // namespace engine::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using engine::fuzz::must;
  const std::string_view model(reinterpret_cast<const char*>(data), size);
  static_cast<void>(engine::multiplies_float32(model));
  static_cast<void>(engine::thread_effects(model));
  for (const engine::OnnxWeight& weight : engine::onnx_weights(model, 1))
    if (weight.location.empty())
      must(weight.offset <= size && weight.bytes <= size - weight.offset);
  return 0;
}
