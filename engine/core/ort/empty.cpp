// Empty sequences. The C API has no function that makes them, so a model of one operator does,
// written here field by field (onnx.proto).
#include <map>
#include <mutex>

#include "ort/session.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine::ort {
namespace {

constexpr int kIrVersion = 8;
constexpr int kOpset = 16;

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

/// ModelProto with SequenceEmpty alone.
std::string sequence_model(int elem_type) {
  // AttributeProto: name = 1, i = 3, type = 20 with INT = 2.
  const std::string attribute = field(1, "dtype") + field(3, elem_type) + field(20, 2);
  // NodeProto: output = 2, op_type = 4, attribute = 5.
  const std::string node = field(2, "y") + field(4, "SequenceEmpty") + field(5, attribute);
  // TypeProto: tensor_type = 1, sequence_type = 4; elem_type = 1 in both.
  const std::string type = field(4, field(1, field(1, field(1, elem_type))));
  // GraphProto: node = 1, name = 2, output = 12; ValueInfoProto: name = 1, type = 2.
  const std::string graph =
      field(1, node) + field(2, "empty") + field(12, field(1, "y") + field(2, type));
  // ModelProto: ir_version = 1, graph = 7, opset_import = 8 with domain = 1, version = 2.
  return field(1, kIrVersion) + field(7, graph) + field(8, field(1, "") + field(2, kOpset));
}

ValuePtr run_once(std::string bytes) {
  const InferenceSession session({.model = std::move(bytes), .is_bytes = true});
  const char* const name = "y";
  OrtValue* value = nullptr;
  check(session.run({}, nullptr, {&name, 1}, &value, nullptr));
  return wrap_output(value, false);
}

}  // namespace

ValuePtr make_empty_sequence(int elem_type) {
  static std::mutex mutex;
  static auto& known = *new std::map<int, ValuePtr>;  // lives as long as the process
  static_cast<void>(to_ort(elem_type));               // throws when there is no such type
  const std::lock_guard lock(mutex);
  ValuePtr& value = known[elem_type];
  if (!value) value = run_once(sequence_model(elem_type));
  return value;
}

}  // namespace engine::ort
