#include "replicas/query_head.hpp"

#include <functional>

#include "frontend/proto.hpp"

namespace engine::replicas {

namespace {

using frontend::FieldReader;
using frontend::text_of;
using frontend::WireType;

// Fields of ModelInferRequest, of an entry of its parameters, and of InferParameter.
constexpr std::uint32_t model_name = 1, parameters = 4, key = 1, value = 2, int64_param = 2,
                        string_param = 3, uint64_param = 5;

/// A number that the same sequence always has; 0 where it is none, as the protocol has it.
std::uint64_t number_of(isolation::Bytes parameter) noexcept {
  FieldReader reader(parameter);
  while (reader.next()) {
    if (reader.is(int64_param, WireType::varint) || reader.is(uint64_param, WireType::varint))
      return reader.number();
    if (reader.is(string_param, WireType::bytes) && !reader.content().empty())
      return std::hash<std::string_view>{}(text_of(reader.content())) | 1;
  }
  return 0;
}

std::uint64_t sequence_of(isolation::Bytes entry) noexcept {
  FieldReader reader(entry);
  bool is_sequence = false;
  std::uint64_t number = 0;
  while (reader.next()) {
    if (reader.is(key, WireType::bytes)) is_sequence = text_of(reader.content()) == "sequence_id";
    if (reader.is(value, WireType::bytes)) number = number_of(reader.content());
  }
  return is_sequence ? number : 0;
}

}  // namespace

QueryHead QueryHead::of(isolation::Bytes content) noexcept {
  QueryHead head;
  FieldReader reader(content);
  while (reader.next()) {
    if (reader.is(model_name, WireType::bytes)) head.model = text_of(reader.content());
    if (reader.is(parameters, WireType::bytes) && head.sequence == 0)
      head.sequence = sequence_of(reader.content());
  }
  return reader.failed() ? QueryHead{} : head;
}

}  // namespace engine::replicas
