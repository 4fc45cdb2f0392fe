// What of a query over REST is looked at where it is passed on.
#include <optional>
#include <string>
#include <utility>

#include "frontend/proto.hpp"
#include "frontend/rest_skim.hpp"
#include "replicas/query_head.hpp"
#include "test.hpp"

namespace rest_skim_tests {

using engine::frontend::RestSkim;

namespace {

std::optional<RestSkim> skim(const std::string& document, const std::string& tensors = {},
                             std::pair<std::string, std::string> field = {}) {
  static std::string body;  // what is found has views of it
  body = document + tensors;
  engine::http1::RequestHead head;
  if (!tensors.empty())
    head.fields.emplace_back("inference-header-content-length", std::to_string(document.size()));
  if (!field.first.empty()) head.fields.push_back(std::move(field));
  return engine::frontend::skimmed(engine::frontend::Rest(head),
                                   {reinterpret_cast<const std::byte*>(body.data()), body.size()});
}

}  // namespace

TEST(of_a_query_over_rest_its_deadline_and_its_sequence_are_found_wherever_they_stand) {
  const std::string inputs =
      R"("inputs": [{"name": "x", "datatype": "BYTES", "shape": [2], "data": ["}]", "é,{"]}])";
  const std::string parameters =
      R"("parameters" : {"other": {"a": [1, {}]}, "timeout": 250, "sequence_id": 42, "last": null})";
  for (const std::string& document : {"{" + inputs + ", " + parameters + R"(, "id": "me"})",
                                      R"( { "id":"me",)" + parameters + "," + inputs + " } "}) {
    const auto found = skim(document);
    CHECK(found.has_value());
    CHECK(found->id == "me" && found->timeout_us == 250 && found->sequence == 42);
  }
  const auto plain = skim("{" + inputs + "}", "\\ bytes of tensors \"{[");
  CHECK(plain.has_value() && plain->timeout_us == 0 && plain->sequence == 0 && plain->id.empty());
}

TEST(a_sequence_has_the_same_number_over_rest_as_over_grpc) {
  using engine::frontend::put_length;
  using engine::frontend::put_text;
  std::string value, entry, message;
  put_text(value, 3, "session");
  put_text(entry, 1, "sequence_id");
  put_length(entry, 2, value.size());
  entry += value;
  put_text(message, 1, "model");
  put_length(message, 4, entry.size());
  message += entry;
  const auto head = engine::replicas::QueryHead::of(
      {reinterpret_cast<const std::byte*>(message.data()), message.size()});
  CHECK(skim(R"({"parameters": {"sequence_id": "session"}})")->sequence == head.sequence);
  CHECK(skim(R"({"parameters": {"sequence_id": -1}})")->sequence == ~std::uint64_t{0});
  CHECK(skim(R"({"parameters": {"sequence_id": ""}})")->sequence == 0);
}

TEST(what_this_does_not_understand_is_left_to_python) {
  for (const char* const document :
       {"", "[]", "{", "{}}", R"({"inputs": [)", R"({"inputs": "open)", R"({"inputs": })",
        R"({"i\u0064": "a", "inputs": []})", R"({"inputs": ["\u00e9"]})",
        R"({"parameters": {"timeout": 1.5}})", R"({"parameters": {"timeout": -1}})",
        R"({"parameters": {"timeout": "5"}})", R"({"parameters": {"sequence_id": 1e3}})",
        R"({"parameters": {"sequence_id": true}})",
        R"({"parameters": {}, "parameters": {"timeout": 1}})",
        R"({"inputs": [{"parameters": {"shared_memory_region": "r"}}]})"})
    CHECK(!skim(document).has_value());
  CHECK(skim("{}").has_value());
  CHECK(!skim("{}", "", {"content-encoding", "gzip"}).has_value());
  CHECK(!skim("{}", "", {"inference-header-content-length", "3"}).has_value());
  std::string large = R"({"inputs": ")";
  large += std::string(engine::frontend::most_skimmed_bytes, 'a') + "\"}";
  CHECK(!skim(large).has_value());
}

}  // namespace rest_skim_tests
