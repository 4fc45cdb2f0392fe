#include "frontend/infer_request.hpp"

#include <algorithm>
#include <limits>

namespace engine::frontend {

namespace {

// Of ModelInferRequest.
constexpr std::uint32_t model_field = 1, version_field = 2, id_field = 3, parameters_field = 4,
                        inputs_field = 5, outputs_field = 6, raw_field = 7;
bool read_shape(const FieldReader& field, std::vector<std::int64_t>& shape) {
  if (field.type() == WireType::varint) {
    shape.push_back(static_cast<std::int64_t>(field.number()));
    return shape.size() <= most_dimensions;
  }
  if (field.type() != WireType::bytes) return false;
  PackedReader numbers(field.content());
  std::uint64_t number = 0;
  while (numbers.next(number)) {
    shape.push_back(static_cast<std::int64_t>(number));
    if (shape.size() > most_dimensions) return false;
  }
  return numbers.at_end();
}

/// An InferParameter: its one field, a number that is not negative, a text, or a flag.
struct Parameter {
  std::string_view name, text;
  std::uint64_t number = 0;
  bool is_text = false, is_flag = false;

  /// Reads an entry of a map of parameters; false where it is another.
  [[nodiscard]] bool read(Bytes entry) {
    FieldReader fields(entry);
    Bytes value;
    while (fields.next()) {
      if (fields.is(1, WireType::bytes))
        name = text_of(fields.content());
      else if (fields.is(2, WireType::bytes))
        value = fields.content();
      else
        return false;
    }
    return !fields.failed() && read_value(value);
  }

 private:
  [[nodiscard]] bool read_value(Bytes value) {
    FieldReader fields(value);
    if (!fields.next()) return false;
    is_text = fields.is(3, WireType::bytes);
    is_flag = fields.is(1, WireType::varint);
    if (is_text)
      text = text_of(fields.content());
    else if (is_flag || fields.is(2, WireType::varint) || fields.is(5, WireType::varint))
      number = fields.number();
    else
      return false;
    return !fields.next() && !fields.failed() && number <= most_number;
  }

  static constexpr std::uint64_t most_number = std::numeric_limits<std::int64_t>::max();
};

/// One of the parameters that place a tensor in shared memory.
bool read_part(Bytes entry, TensorPart& part) {
  Parameter parameter;
  if (!parameter.read(entry) || parameter.is_flag) return false;
  if (parameter.name == "shared_memory_region" && parameter.is_text)
    part.region = parameter.text;
  else if (parameter.name == "shared_memory_offset" && !parameter.is_text)
    part.offset = parameter.number;
  else if (parameter.name == "shared_memory_byte_size" && !parameter.is_text)
    part.bytes = parameter.number;
  else
    return false;
  return true;
}

bool read_input(Bytes message, GivenInput& input) {
  FieldReader fields(message);
  while (fields.next()) {
    if (fields.is(1, WireType::bytes))
      input.name = text_of(fields.content());
    else if (fields.is(2, WireType::bytes))
      input.datatype = text_of(fields.content());
    else if (fields.field() == 3) {
      if (!read_shape(fields, input.shape)) return false;
    } else if (fields.is(4, WireType::bytes)) {
      if (!read_part(fields.content(), input.part)) return false;
    } else if (fields.is(5, WireType::bytes) && !input.is_typed) {
      input.contents = fields.content();
      input.is_typed = true;
    } else {
      return false;
    }
  }
  return !fields.failed() && is_whole(input.part) &&
         !(input.is_typed && !input.part.region.empty());
}

bool read_output(Bytes message, WantedOutput& output) {
  FieldReader fields(message);
  while (fields.next()) {
    if (fields.is(1, WireType::bytes))
      output.name = text_of(fields.content());
    else if (!fields.is(2, WireType::bytes) || !read_part(fields.content(), output.part))
      return false;
  }
  return !fields.failed() && is_whole(output.part);
}

/// A parameter of the request.
bool read_parameter(Bytes message, InferRequest& request) {
  Parameter parameter;
  if (!parameter.read(message) || parameter.is_text) return false;
  // Triton's C++ client says so of each query; the last answer of one is marked as such anyway.
  if (parameter.is_flag) return parameter.name == "triton_enable_empty_final_response";
  if (parameter.name == "timeout")
    request.timeout_us = static_cast<std::int64_t>(parameter.number);
  else if (parameter.name == "priority")
    request.priority = static_cast<std::int64_t>(parameter.number);
  else
    return false;
  return true;
}

}  // namespace

void InferRequest::clear() noexcept {
  model = version = id = {};
  inputs.clear();
  outputs.clear();
  raw.clear();
  timeout_us = priority = 0;
  as_bytes = true;
}

bool InferRequest::read(Bytes message) {
  clear();
  FieldReader fields(message);
  while (fields.next()) {
    if (fields.type() != WireType::bytes) return false;
    const Bytes content = fields.content();
    bool is_plain =
        inputs.size() < most_tensors && outputs.size() < most_tensors && raw.size() < most_tensors;
    switch (fields.field()) {
      case model_field:
        model = text_of(content);
        break;
      case version_field:
        version = text_of(content);
        break;
      case id_field:
        id = text_of(content);
        break;
      case parameters_field:
        is_plain = read_parameter(content, *this);
        break;
      case inputs_field:
        is_plain = is_plain && read_input(content, inputs.emplace_back());
        break;
      case outputs_field:
        is_plain = is_plain && read_output(content, outputs.emplace_back());
        break;
      case raw_field:
        raw.push_back(content);
        break;
      default:
        is_plain = false;
    }
    if (!is_plain) return false;
  }
  const auto sent = static_cast<std::size_t>(std::ranges::count_if(
      inputs, [](const GivenInput& input) { return input.part.region.empty(); }));
  return !fields.failed() && (raw.empty() || raw.size() == sent);
}

bool is_whole(const TensorPart& part) noexcept {
  return part.region.empty() ? part.offset == 0 && part.bytes == 0 : part.bytes > 0;
}

std::size_t raw_offset(Bytes beginning) noexcept {
  FieldReader fields(beginning);
  while (fields.next())
    if (fields.is(raw_field, WireType::bytes)) return fields.offset();
  // Its length is there, its content is still to come.
  return fields.failed() && fields.is(raw_field, WireType::bytes) ? fields.offset() : 0;
}

}  // namespace engine::frontend
