// The fields of protobuf messages, as far as ONNX files need them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace engine::onnx {

// Numbers of onnx.proto's fields.
inline constexpr std::uint64_t model_graph = 7;
inline constexpr std::uint64_t graph_node = 1, graph_initializer = 5, graph_input = 11,
                               graph_output = 12, graph_value_info = 13;
inline constexpr std::uint64_t node_input = 1, node_output = 2, node_op_type = 4,
                               node_attribute = 5, node_domain = 7;
inline constexpr std::uint64_t attribute_name = 1, attribute_i = 3, attribute_t = 5,
                               attribute_g = 6, attribute_graphs = 11;
inline constexpr std::uint64_t value_name = 1, value_type = 2, type_tensor = 1,
                               tensor_type_elem = 1;
inline constexpr std::uint64_t tensor_dims = 1, tensor_type = 2, tensor_name = 8,
                               tensor_raw_data = 9, tensor_external_data = 13;
inline constexpr std::uint64_t entry_key = 1, entry_value = 2;

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

  [[nodiscard]] std::optional<Field> next();
  [[nodiscard]] std::optional<std::uint64_t> varint();

 private:
  [[nodiscard]] std::optional<Field> take(std::uint64_t size, Field field);

  std::string_view left_;
};

}  // namespace engine::onnx
