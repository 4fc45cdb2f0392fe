// Which models would answer otherwise in TF32, and that their sessions are told not to.
#include "files/onnx_float32.hpp"
#include "ort_fixtures.hpp"

namespace float32_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::uint64_t float32 = 1, int64 = 7, half = 10;

std::string value(const std::string& name, std::uint64_t type) {
  return field(1, name) + field(2, field(1, field(1, type)));
}

struct NodeText {
  std::string op_type;
  std::vector<std::string> inputs;
  std::string output;
  std::string more = {};  ///< attributes, or a domain
};

std::string text_of(const NodeText& node) {
  std::string text = field(4, node.op_type) + field(2, node.output) + node.more;
  for (const std::string& input : node.inputs) text += field(1, input);
  return text;
}

std::string cast_to(std::uint64_t type) { return field(5, field(1, "to") + field(3, type)); }

std::string graph(const std::vector<NodeText>& nodes, std::uint64_t input) {
  std::string text = field(11, value("x", input));
  for (const NodeText& node : nodes) text += field(1, text_of(node));
  return text;
}

bool multiplies(const std::vector<NodeText>& nodes, std::uint64_t input = float32) {
  return multiplies_float32(field(7, graph(nodes, input)));
}

/// A model that the fake runs, and that has nodes besides.
std::string both(const std::vector<NodeText>& nodes, std::uint64_t input) {
  return field(7, field(10, "fake:in x 10;out y 10;;") + graph(nodes, input));
}

}  // namespace

TEST(products_and_convolutions_of_float32_are_found) {
  for (const char* op_type : {"Conv", "MatMul", "Gemm", "LSTM"})
    CHECK(multiplies({{op_type, {"x", "x"}, "y"}}));
  CHECK(!multiplies({{"Add", {"x", "x"}, "y"}, {"Relu", {"y"}, "z"}}));
  CHECK(!multiplies({{"MatMul", {"x", "x"}, "y"}}, half));
  CHECK(multiplies({{"Anything", {"x"}, "y", field(7, "com.microsoft")}}));
  CHECK(!multiplies({{"Anything", {"x"}, "y", field(7, "com.microsoft")}}, half));
}

TEST(types_are_followed_through_nodes) {
  // A model of half precision whose inputs and outputs are float32, as converters leave them.
  const NodeText in{"Cast", {"x"}, "h", cast_to(half)}, out{"Cast", {"z"}, "y", cast_to(float32)};
  CHECK(!multiplies({in, {"Relu", {"h"}, "r"}, {"MatMul", {"r", "r"}, "z"}, out}));
  CHECK(multiplies({in, {"MatMul", {"h", "h"}, "z"}, out, {"MatMul", {"y", "y"}, "e"}}));
  CHECK(multiplies({{"MatMul", {"from nowhere", "x"}, "y"}}, half));
  CHECK(!multiplies({{"Conv", {"x", "x", ""}, "y"}}, half));
}

TEST(bodies_of_control_flow_see_what_is_around_them) {
  const std::string body = field(1, text_of({"MatMul", {"x", "x"}, "b"}));
  const NodeText branch{"If", {"c"}, "y", field(5, field(1, "then_branch") + field(6, body))};
  CHECK(multiplies({branch}) && !multiplies({branch}, half));
}

TEST(bodies_within_bodies_without_end_are_not_followed) {
  std::string body = field(1, text_of({"Relu", {"x"}, "b"}));
  for (int depth = 0; depth < 20'000; ++depth) body = field(1, field(5, field(6, body)));
  CHECK(multiplies_float32(field(7, body)));
}

TEST(sessions_use_tensor_cores_unless_they_would_round_float32) {
  const NodeText product{"MatMul", {"x", "x"}, "y"};
  for (const auto& [type, allows, expected] :
       {std::tuple{float32, false, 0}, {float32, true, 1}, {half, false, 1}, {half, true, 1}}) {
    const FakeCuda fake;
    const FakeOrt ort;
    DeviceParams params = gpu(1);
    params.of<CudaParams>().backend = make_ort_cuda_backend(0, allows);
    MachineOwner machine(machine_of({cpu(1), params}));
    const PlanPtr plan = plan_of(
        machine, source({.model = both({product}, type), .is_bytes = true}, {"x"}, {"y"}), 1, 1);
    CHECK(ort.count("tf32") == static_cast<std::size_t>(expected));
    ort.check_clean();
  }
}

TEST(partitions_agree_on_tf32) {
  DeviceParams one = partition(64, 1), other = partition(32, 1);
  other.of<CudaParams>().allows_tf32 = true;
  std::string why;
  try {
    MachineOwner machine(machine_of({cpu(1), one, other}));
  } catch (const std::invalid_argument& error) {
    why = error.what();
  }
  CHECK(why.find("all allow TF32, or none") != std::string::npos);
}

}  // namespace float32_tests
