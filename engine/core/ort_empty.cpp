// Values without content: absent optionals and empty sequences. The C API has no function that
// makes them, so a model of one operator does, written here field by field (onnx.proto).
#include <map>
#include <mutex>
#include <tuple>

#include "ort_session.hpp"
#include "ort_value.hpp"

namespace engine::ort {
namespace {

constexpr int kIrVersion = 8;
constexpr int kOpset = 16;  // the first with Optional over every type

std::string varint(std::size_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string field(int number, int value) {
  return varint(static_cast<std::size_t>(number) << 3) + varint(static_cast<std::size_t>(value));
}

std::string field(int number, const std::string& payload) {
  return varint((static_cast<std::size_t>(number) << 3) | 2) + varint(payload.size()) + payload;
}

// TypeProto: tensor_type = 1, sequence_type = 4, optional_type = 9; elem_type = 1 in each.
std::string tensor_type(int elem_type) { return field(1, field(1, elem_type)); }
std::string sequence_type(int elem_type) { return field(4, field(1, tensor_type(elem_type))); }

/// ModelProto of one operator without inputs: ir_version = 1, graph = 7, opset_import = 8.
std::string model(const std::string& op_type, const std::string& attribute,
                  const std::string& output_type) {
  const std::string node = field(2, "y") + field(4, op_type) + field(5, attribute);
  const std::string output = field(1, "y") + field(2, output_type);
  const std::string graph = field(1, node) + field(2, "empty") + field(12, output);
  return field(1, kIrVersion) + field(7, graph) + field(8, field(1, "") + field(2, kOpset));
}

std::string none_model(bool of_sequence, int elem_type) {
  const std::string held = of_sequence ? sequence_type(elem_type) : tensor_type(elem_type);
  // AttributeProto: name = 1, tp = 14, type = 20 with TYPE_PROTO = 13.
  const std::string attribute = field(1, "type") + field(14, held) + field(20, 13);
  return model("Optional", attribute, field(9, field(1, held)));
}

std::string sequence_model(int elem_type) {
  // AttributeProto: i = 3, type = 20 with INT = 2.
  const std::string attribute = field(1, "dtype") + field(3, elem_type) + field(20, 2);
  return model("SequenceEmpty", attribute, sequence_type(elem_type));
}

ValuePtr run_once(std::string bytes) {
  const InferenceSession session({.model = std::move(bytes), .is_bytes = true});
  const char* const name = "y";
  OrtValue* value = nullptr;
  check(session.run({}, nullptr, {&name, 1}, &value, nullptr));
  return std::make_shared<OnnxValue>(Handle<OrtValue>(value));
}

/// `make` at the first call with this key, kept for the next: the values are immutable.
template <typename Make>
ValuePtr remembered(std::tuple<bool, bool, int> key, const Make& make) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::tuple<bool, bool, int>, ValuePtr>;
  const std::lock_guard lock(mutex);
  ValuePtr& value = known[key];
  if (!value) value = run_once(make());
  return value;
}

}  // namespace

ValuePtr make_none(bool of_sequence, int elem_type) {
  return remembered({true, of_sequence, elem_type},
                    [&] { return none_model(of_sequence, elem_type); });
}

ValuePtr make_empty_sequence(int elem_type) {
  return remembered({false, true, elem_type}, [&] { return sequence_model(elem_type); });
}

}  // namespace engine::ort
