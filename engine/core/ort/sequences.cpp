// What the C API has no function for, done by models of a few operators that are written here field
// by field (onnx.proto): to make an empty sequence, and to copy all parts of one at once.
#include <array>
#include <map>
#include <memory>
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

/// NodeProto.attribute = 5; AttributeProto: name = 1, i = 3, type = 20 with INT = 2.
std::string attribute(const std::string& name, int number) {
  return field(5, field(1, name) + field(3, number) + field(20, 2));
}

/// TypeProto: tensor_type = 1, sequence_type = 4; elem_type = 1 in both.
std::string tensor_of(int elem_type) { return field(1, field(1, elem_type)); }
std::string sequence_of(int elem_type) { return field(4, field(1, tensor_of(elem_type))); }

/// ValueInfoProto: name = 1, type = 2.
std::string value(const std::string& name, const std::string& type) {
  return field(1, name) + field(2, type);
}

/// ModelProto: ir_version = 1, graph = 7, opset_import = 8 with domain = 1, version = 2.
std::string model_of(const std::string& graph) {
  return field(1, kIrVersion) + field(7, field(2, "sequences") + graph) +
         field(8, field(1, "") + field(2, kOpset));
}

/// GraphProto: node = 1, input = 11, output = 12; NodeProto: input = 1, output = 2, op_type = 4.
std::string empty_model(int elem_type) {
  const std::string node =
      field(2, "y") + field(4, "SequenceEmpty") + attribute("dtype", elem_type);
  return model_of(field(1, node) + field(12, value("y", sequence_of(elem_type))));
}

/// The parts along a new axis, which fails unless all that are not empty have the same sizes; and
/// how many elements they have together.
std::string stack_model(int elem_type) {
  const std::string concat = field(1, "x") + field(4, "ConcatFromSequence") + attribute("axis", 0);
  const std::string stacked = concat + field(2, "y") + attribute("new_axis", 1);
  const std::string joined = concat + field(2, "joined");
  const std::string size = field(1, "joined") + field(2, "size") + field(4, "Size");
  return model_of(field(1, stacked) + field(1, joined) + field(1, size) +
                  field(11, value("x", sequence_of(elem_type))) +
                  field(12, value("y", tensor_of(elem_type))) +
                  field(12, value("size", tensor_of(kInt64))));
}

/// One for each element type, as long as the process lives.
const InferenceSession& stack_session(int elem_type) {
  static std::mutex mutex;
  static auto& known = *new std::map<int, std::unique_ptr<const InferenceSession>>;
  const std::lock_guard lock(mutex);
  auto& session = known[elem_type];
  if (!session)
    session = std::make_unique<const InferenceSession>(
        SessionParams{.model = stack_model(elem_type), .is_bytes = true});
  return *session;
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
  if (!value) value = run_once(empty_model(elem_type));
  return value;
}

std::shared_ptr<const OnnxValue> stack_parts(const OnnxValue& sequence, int elem_type) {
  static constexpr std::array<const char*, 2> kOutputs{"y", "size"};
  const char* const input = "x";
  const OrtValue* const given = sequence.get();
  std::array<OrtValue*, 2> made{};
  OrtStatus* const status =
      stack_session(elem_type).run({&input, 1}, &given, kOutputs, made.data(), nullptr);
  if (status != nullptr) {
    api().release_status(status);
    return nullptr;
  }
  auto stacked = std::make_shared<const OnnxValue>(Handle<OrtValue>(made[0]));
  const OnnxValue size{Handle<OrtValue>(made[1])};
  // An empty part among others is passed over, and its place left as it is.
  const bool is_whole =
      *static_cast<const std::int64_t*>(size.data()) == static_cast<std::int64_t>(stacked->count());
  return is_whole ? stacked : nullptr;
}

}  // namespace engine::ort
