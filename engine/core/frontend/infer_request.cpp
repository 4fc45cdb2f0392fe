#include "frontend/infer_request.hpp"

namespace engine::frontend {

namespace {

// Of ModelInferRequest.
constexpr std::uint32_t model_field = 1, version_field = 2, id_field = 3, parameters_field = 4,
                        inputs_field = 5, outputs_field = 6, raw_field = 7;
// As engine/shapes.py, whose error others give.
constexpr std::size_t most_dimensions = 32;
constexpr std::size_t most_tensors = 4096;

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

bool read_input(Bytes message, GivenInput& input) {
  FieldReader fields(message);
  while (fields.next()) {
    if (fields.is(1, WireType::bytes))
      input.name = text_of(fields.content());
    else if (fields.is(2, WireType::bytes))
      input.datatype = text_of(fields.content());
    else if (fields.field() == 3) {
      if (!read_shape(fields, input.shape)) return false;
    } else if (fields.is(5, WireType::bytes) && !input.is_typed) {
      input.contents = fields.content();
      input.is_typed = true;
    } else {
      return false;
    }
  }
  return !fields.failed();
}

bool read_output(Bytes message, std::string_view& name) {
  FieldReader fields(message);
  while (fields.next()) {
    if (!fields.is(1, WireType::bytes)) return false;
    name = text_of(fields.content());
  }
  return !fields.failed();
}

/// An InferParameter of a number that is not negative.
bool read_number(Bytes message, std::int64_t& number) {
  FieldReader fields(message);
  bool found = false;
  while (fields.next()) {
    if (found || !(fields.is(2, WireType::varint) || fields.is(5, WireType::varint))) return false;
    number = static_cast<std::int64_t>(fields.number());
    found = true;
  }
  return found && !fields.failed() && number >= 0;
}

/// An entry of the map of parameters.
bool read_parameter(Bytes message, InferRequest& request) {
  FieldReader fields(message);
  std::string_view name;
  Bytes value;
  while (fields.next()) {
    if (fields.is(1, WireType::bytes))
      name = text_of(fields.content());
    else if (fields.is(2, WireType::bytes))
      value = fields.content();
    else
      return false;
  }
  if (fields.failed()) return false;
  if (name == "timeout") return read_number(value, request.timeout_us);
  if (name == "priority") return read_number(value, request.priority);
  return false;
}

}  // namespace

bool InferRequest::read(Bytes message) {
  model = version = id = {};
  inputs.clear();
  outputs.clear();
  raw.clear();
  timeout_us = priority = 0;
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
  return !fields.failed() && (raw.empty() || raw.size() == inputs.size());
}

std::size_t raw_offset(Bytes beginning) noexcept {
  FieldReader fields(beginning);
  while (fields.next())
    if (fields.is(raw_field, WireType::bytes)) return fields.offset();
  // Its length is there, its content is still to come.
  return fields.failed() && fields.is(raw_field, WireType::bytes) ? fields.offset() : 0;
}

}  // namespace engine::frontend
