// What of a query says where it goes.
#include <string>

#include "frontend/proto.hpp"
#include "replicas/query_head.hpp"
#include "test.hpp"

namespace query_head_tests {

using engine::frontend::put_length;
using engine::frontend::put_text;
using engine::frontend::put_varint;
using engine::replicas::QueryHead;

namespace {

/// A ModelInferRequest with a model's name, and a parameter whose value is such a message.
std::string request(const std::string& parameter, const std::string& value) {
  std::string entry, message;
  put_text(entry, 1, parameter);
  put_length(entry, 2, value.size());
  entry += value;
  put_text(message, 1, "model");
  put_text(message, 2, "7");
  put_length(message, 4, entry.size());
  message += entry;
  put_length(message, 7, 1000);
  return message + std::string(1000, '\x80');
}

std::string number(std::uint32_t field, std::uint64_t value) {
  std::string message;
  put_varint(message, field << 3);
  put_varint(message, value);
  return message;
}

QueryHead head_of(const std::string& message) {
  return QueryHead::of({reinterpret_cast<const std::byte*>(message.data()), message.size()});
}

}  // namespace

TEST(a_querys_head_is_its_model_and_its_sequence) {
  const std::string numbered = request("sequence_id", number(2, 42));
  CHECK(head_of(numbered).model == "model");
  CHECK(head_of(numbered).sequence == 42);
  CHECK(head_of(request("sequence_id", number(5, 43))).sequence == 43);
  CHECK(head_of(request("priority", number(2, 44))).sequence == 0);
}

TEST(a_sequence_with_a_name_has_always_the_same_number) {
  std::string named, other;
  put_text(named, 3, "session");
  put_text(other, 3, "another");
  const std::uint64_t found = head_of(request("sequence_id", named)).sequence;
  CHECK(found != 0 && found == head_of(request("sequence_id", named)).sequence);
  CHECK(found != head_of(request("sequence_id", other)).sequence);
}

TEST(of_what_is_no_query_nothing_is_read) {
  const std::string whole = request("sequence_id", number(2, 42));
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    const std::string part = whole.substr(0, bytes);
    const std::string_view model = head_of(part).model;
    CHECK(model.empty() || model == "model");
  }
  CHECK(head_of(whole.substr(0, whole.size() - 1)).model.empty());
  CHECK(head_of("").model.empty());
}

}  // namespace query_head_tests
