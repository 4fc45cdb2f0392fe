// Which models' answers depend on the threads of their session.
#include "files/onnx_threads.hpp"
#include "ort_fixtures.hpp"

namespace onnx_threads_tests {

using namespace engine;
using namespace engine::test;

namespace {

std::string reduction(const std::string& kind) {
  return field(5, field(1, "reduction") + field(4, kind));
}

std::string scatter(const std::string& attribute) { return field(4, "ScatterND") + attribute; }

bool races(const std::string& node) { return thread_effects(field(7, field(1, node))).race; }

}  // namespace

TEST(a_scatter_that_reduces_races) {
  CHECK(races(scatter(reduction("add"))));
  CHECK(races(scatter(reduction("max"))));
  CHECK(!races(scatter(reduction("none"))));
  CHECK(!races(scatter("")));
  CHECK(!races(field(4, "ScatterElements") + reduction("add")));
}

TEST(bodies_and_functions_are_looked_into) {
  const std::string body = field(1, scatter(reduction("add")));
  CHECK(races(field(4, "Loop") + field(5, field(1, "body") + field(6, body))));
  CHECK(thread_effects(field(25, field(7, scatter(reduction("mul"))))).race);
}

TEST(a_runtime_file_is_searched_for_names) {
  const std::string file = std::string("\x10\0\0\0", 4) + "ORTM, ScatterND";
  CHECK(thread_effects(file).race);
  CHECK(!thread_effects(std::string("\x10\0\0\0", 4) + "ORTM, Gather").race);
}

TEST(recurrent_layers_that_quantise_are_found) {
  const std::string node = field(4, "DynamicQuantizeLSTM") + field(7, "com.microsoft");
  CHECK(thread_effects(field(7, field(1, node))).quantise);
  CHECK(!thread_effects(field(7, field(1, field(4, "LSTM")))).quantise);
}

TEST(what_is_no_model_has_none) {
  CHECK(!thread_effects("").race);
  CHECK(!thread_effects("ScatterND").race);
  CHECK(!thread_effects_of("/nowhere/at/all").race);
}

}  // namespace onnx_threads_tests
