#include <string>
#include <string_view>

#include "frontend/readiness.hpp"
#include "test.hpp"

namespace readiness_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string fields(std::string_view first, std::string_view second = {}) {
  std::string message;
  put_text(message, 1, first);
  put_text(message, 2, second);
  return message;
}

const std::string yes("\x08\x01", 2), not_serving("\x08\x02", 2);

}  // namespace

TEST(python_is_asked_until_all_models_are_told_of) {
  Readiness readiness;
  readiness.tell("a", "1", {.is_ready = true});
  CHECK(!readiness.server() && !readiness.model("a", "1"));
  readiness.open();
  CHECK(readiness.server() == true && readiness.model("a", "1") == true);
}

TEST(a_server_is_ready_when_each_name_has_a_version_that_is) {
  Readiness readiness;
  readiness.open();
  readiness.tell("a", "1", {.is_ready = true});
  readiness.tell("a", "2", {});
  CHECK(readiness.server() == true);
  readiness.tell("b", "1", {});
  CHECK(readiness.server() == false);
  readiness.tell("b", "1", {.is_unloaded = true});
  CHECK(readiness.server() == true);
  readiness.drain();
  CHECK(readiness.server() == false && readiness.model("a", "1") == true);
}

TEST(a_model_is_ready_when_that_version_is_or_any) {
  Readiness readiness;
  readiness.open();
  readiness.tell("a", "1", {.is_ready = true});
  readiness.tell("a", "2", {});
  CHECK(readiness.model("a", "1") == true && readiness.model("a", "2") == false);
  CHECK(readiness.model("a", "") == true);
  CHECK(!readiness.model("a", "3") && !readiness.model("b", ""));  // Python says what there is
}

TEST(readiness_is_said_as_protobuf_would) {
  Readiness readiness;
  readiness.open();
  readiness.tell("a", "1", {.is_ready = true});
  CHECK(server_ready_answer(readiness, {}) == yes);
  CHECK(model_ready_answer(readiness, bytes_of(fields("a", "1"))) == yes);
  CHECK(health_answer(readiness, {}) == yes);
  CHECK(health_answer(readiness, bytes_of(fields("inference.GRPCInferenceService"))) == yes);
  readiness.tell("a", "1", {});
  CHECK(server_ready_answer(readiness, {}) == "");
  CHECK(model_ready_answer(readiness, bytes_of(fields("a"))) == "");
  CHECK(health_answer(readiness, {}) == not_serving);
}

TEST(what_is_odd_of_a_health_check_is_pythons) {
  Readiness readiness;
  readiness.open();
  readiness.tell("a", "1", {.is_ready = true});
  CHECK(!server_ready_answer(readiness, bytes_of("\x0A\x01x")));
  CHECK(!model_ready_answer(readiness, bytes_of("\xFF\xFF")));
  CHECK(!model_ready_answer(readiness, bytes_of(std::string_view("\x18\x00", 2))));
  CHECK(!health_answer(readiness, bytes_of(fields("another.Service"))));
  CHECK(!health_answer(readiness, bytes_of("\x0A\x7Fx")));
}

}  // namespace readiness_tests
