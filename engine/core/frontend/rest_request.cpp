#include "frontend/rest_request.hpp"

#include <charconv>
#include <cstdint>

#include "frontend/json_reader.hpp"

namespace engine::frontend {

namespace {

/// A number of at least 0.
bool read_count(JsonReader& json, std::uint64_t& found) noexcept {
  std::int64_t number = 0;
  if (!json.whole_number(number) || number < 0) return false;
  found = static_cast<std::uint64_t>(number);
  return true;
}

/// One of the parameters that place a tensor in shared memory.
bool read_part(JsonReader& json, std::string_view name, TensorPart& part, SeenMembers& seen) {
  if (name == "shared_memory_region") return seen.note(0) && json.text(part.region);
  if (name == "shared_memory_offset") return seen.note(1) && read_count(json, part.offset);
  return name == "shared_memory_byte_size" && seen.note(2) && read_count(json, part.bytes);
}

class RequestReader {
 public:
  RequestReader(JsonReader& json, Bytes raw, InferRequest& request)
      : json_(json), raw_(raw), request_(request) {}

  bool read() {
    request_.as_bytes = false;
    SeenMembers seen;
    const bool is_plain = json_.object([&](std::string_view name) {
      if (name == "id") return seen.note(0) && json_.text(request_.id);
      if (name == "parameters") return seen.note(1) && read_parameters();
      if (name == "inputs") return seen.note(2) && json_.array([&] { return read_input(); });
      if (name == "outputs") return seen.note(3) && json_.array([&] { return read_output(); });
      return false;
    });
    return is_plain && seen.has(2) && json_.at_end() && raw_.empty();
  }

 private:
  bool read_parameters() {
    SeenMembers seen;
    return json_.object([&](std::string_view name) {
      if (name == "timeout") return seen.note(0) && read_number(request_.timeout_us);
      if (name == "priority") return seen.note(1) && read_number(request_.priority);
      return name == "binary_data_output" && seen.note(2) && json_.boolean(request_.as_bytes);
    });
  }
  bool read_number(std::int64_t& found) noexcept { return json_.whole_number(found) && found >= 0; }

  bool read_input() {
    if (request_.inputs.size() == most_tensors) return false;
    GivenInput& input = request_.inputs.emplace_back();
    SeenMembers seen;
    std::optional<std::uint64_t> bytes;
    const bool is_plain = json_.object([&](std::string_view name) {
      if (name == "name") return seen.note(0) && json_.text(input.name);
      if (name == "datatype") return seen.note(1) && json_.text(input.datatype);
      if (name == "shape") return seen.note(2) && json_.array([&] { return read_size(input); });
      if (name == "parameters") return seen.note(3) && read_place(input, bytes);
      return name == "data" && seen.note(4) && json_.numbers(input.numbers);
    });
    if (!is_plain || !seen.has(0) || !seen.has(1) || !seen.has(2)) return false;
    const bool is_shared = !input.part.region.empty();
    if (!is_whole(input.part) || is_shared + bytes.has_value() + input.numbers.has_value() != 1)
      return false;
    return !bytes || take_raw(*bytes);
  }
  bool read_size(GivenInput& input) {
    std::int64_t size = 0;
    if (input.shape.size() == most_dimensions || !json_.whole_number(size)) return false;
    input.shape.push_back(size);
    return true;
  }
  bool read_place(GivenInput& input, std::optional<std::uint64_t>& bytes) {
    SeenMembers seen, of_part;
    return json_.object([&](std::string_view name) {
      if (name == "binary_data_size") return seen.note(0) && read_count(json_, bytes.emplace());
      return read_part(json_, name, input.part, of_part);
    });
  }
  bool take_raw(std::uint64_t bytes) {
    if (bytes > raw_.size()) return false;
    request_.raw.push_back(raw_.first(bytes));
    raw_ = raw_.subspan(bytes);
    return true;
  }

  bool read_output() {
    if (request_.outputs.size() == most_tensors) return false;
    WantedOutput& output = request_.outputs.emplace_back();
    SeenMembers seen;
    const bool is_plain = json_.object([&](std::string_view name) {
      if (name == "name") return seen.note(0) && json_.text(output.name);
      return name == "parameters" && seen.note(1) && read_form(output);
    });
    const bool is_shared = !output.part.region.empty();
    return is_plain && seen.has(0) && is_whole(output.part) &&
           !(is_shared && output.as_bytes.value_or(false));
  }
  bool read_form(WantedOutput& output) {
    SeenMembers seen, of_part;
    return json_.object([&](std::string_view name) {
      if (name == "binary_data") return seen.note(0) && json_.boolean(output.as_bytes.emplace());
      return read_part(json_, name, output.part, of_part);
    });
  }

  JsonReader& json_;
  Bytes raw_;
  InferRequest& request_;
};

}  // namespace

std::optional<std::size_t> document_bytes(const Rest& rest, Bytes body) noexcept {
  std::size_t length = body.size();
  bool has_length = false;
  for (const auto& [name, value] : rest.head.fields) {
    if (name == "content-encoding") return std::nullopt;
    if (name != "inference-header-content-length") continue;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    const bool is_number = error == std::errc{} && end == value.data() + value.size();
    if (has_length || !is_number || length > body.size()) return std::nullopt;
    has_length = true;
  }
  return length;
}

bool read_rest_request(const Rest& rest, Bytes body, InferRequest& request) {
  request.clear();
  const std::optional<std::size_t> length = document_bytes(rest, body);
  if (!length || *length > most_document_bytes) return false;
  request.model = rest.model;
  request.version = rest.version;
  JsonReader json(text_of(body.first(*length)));
  return RequestReader(json, body.subspan(*length), request).read();
}

}  // namespace engine::frontend
