#include <dlfcn.h>

#include <chrono>
#include <thread>

#include "compiled/compiled_kernel.hpp"
#include "ort/kernel.hpp"
#include "ort_fixtures.hpp"
#include "test.hpp"

namespace compiled_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr const char* library = COMPILED_SEGMENTS_LIBRARY;

CompiledParams params(std::string symbol, std::size_t inputs = 1) {
  return {.library_path = library,
          .symbol = std::move(symbol),
          .inputs = inputs,
          .outputs = {DeclaredTensor{ort::kInt64, std::vector<std::int64_t>{-1}}}};
}

bool names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Why no kernel can be made.
std::string refusal(CompiledParams params) {
  try {
    static_cast<void>(make_compiled_kernel(std::move(params)));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

/// A plan of one compiled node.
PlanPtr compiled_plan(const MachineOwner& machine, CompiledParams params, int width = 1) {
  PlanBuilder builder(machine.get());
  std::vector<int> inputs;
  for (std::size_t i = 0; i < params.inputs; ++i) inputs.push_back(builder.add_value("x"));
  const int output = builder.add_value("y");
  builder.set_inputs(inputs);
  builder.set_token_maker(make_ort_cancel_token);
  builder.add_node({.name = "block",
                    .kernel = make_compiled_kernel(std::move(params)),
                    .inputs = inputs,
                    .outputs = {output},
                    .width = width});
  builder.set_outputs({output});
  return builder.build();
}

std::string error_of(const MachineOwner& machine, const PlanPtr& plan, const Inputs& inputs) {
  const RunPtr run = machine->run(*plan, inputs, {}, 0);
  return run->outcome() == Outcome::failed ? run->error() : "";
}

}  // namespace

TEST(compiled_segment_computes_with_its_lanes_constants_and_workspace) {
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(lanes)}));
  CompiledParams own = params("two_inputs");
  own.constants = {tensor(7, 1)};
  own.lanes = lanes;
  const PlanPtr plan = compiled_plan(machine, std::move(own), lanes);
  std::vector<RunPtr> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(machine->submit(*plan, Inputs{tensor(i, 3)}, {}));
  for (int i = 0; i < 20; ++i) {
    RunPtr& run = runs[static_cast<std::size_t>(i)];
    run->wait(0, true);
    CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{1000} * lanes + 7 + i, 3UL));
  }
}

TEST(compiled_segment_has_a_state_a_lane_as_long_as_its_plan_lives) {
  const FakeOrt ort;
  static const auto alive =
      reinterpret_cast<int (*)()>(dlsym(dlopen(library, RTLD_NOW | RTLD_LOCAL), "states_alive"));
  MachineOwner machine(machine_of({cpu(lanes)}));
  CompiledParams own = params("counting");
  own.constants = {tensor(42, 1)};
  PlanPtr plan = compiled_plan(machine, std::move(own));
  CHECK(alive() == 1);
  std::vector<RunPtr> runs;
  for (int i = 0; i < 100; ++i) runs.push_back(machine->submit(*plan, Inputs{tensor(i, 2)}, {}));
  for (RunPtr& run : runs) {
    run->wait(0, true);
    CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{42}, 2UL));
  }
  CHECK(alive() >= 1 && alive() <= lanes);
  runs.clear();
  plan.reset();
  // A lane may be letting go of the last run still, and with it of the plan.
  for (int i = 0; i < 5000 && alive() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(alive() == 0);
}

TEST(compiled_segment_of_version_1_has_no_state) {
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = compiled_plan(machine, params("of_version_1", 2));
  const RunPtr run = machine->run(*plan, Inputs{tensor(3, 1), tensor(4, 1)}, {}, 0);
  CHECK(numbers_in(run->outputs()[0]).first == 1007);
}

TEST(compiled_segment_takes_tensors_without_elements) {
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = compiled_plan(machine, params("two_inputs", 2));
  const RunPtr run = machine->run(*plan, Inputs{tensor(0, 0), tensor(1, 1)}, {}, 0);
  CHECK(run->outcome() == Outcome::ok);
  CHECK(numbers_in(run->outputs()[0]).second == 0);
}

TEST(compiled_segment_fails_its_run_alone_and_says_why) {
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = compiled_plan(machine, params("one_input"));
  const std::string error = error_of(machine, plan, Inputs{tensor(0, 1)});
  for (const char* part : {"'block'", "'one_input'", library, "got a zero"})
    CHECK(names(error, part));
  CHECK(names(error_of(machine, plan, Inputs{nullptr}), "its input 0: it is absent"));
}

TEST(compiled_segment_ends_early_when_it_is_cancelled) {
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = compiled_plan(machine, params("one_input"));
  const RunPtr run = machine->submit(*plan, Inputs{tensor(1, 1)}, {});
  run->cancel();
  run->wait(0, false);
  CHECK(run->outcome() == Outcome::cancelled);
}

TEST(compiled_segment_may_not_lie_about_its_outputs) {
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr any = compiled_plan(machine, params("wrong"));
  CHECK(names(error_of(machine, any, Inputs{tensor(0, 1)}), "output 0 has 9 dimensions"));
  CHECK(names(error_of(machine, any, Inputs{tensor(0, 2)}), "has type 7 [-1]"));
  CHECK(names(error_of(machine, any, Inputs{tensor(0, 3)}), "elements of type 8"));
  CompiledParams fixed = params("wrong");
  fixed.outputs[0].shape = {4};
  const PlanPtr four = compiled_plan(machine, std::move(fixed));
  CHECK(
      names(error_of(machine, four, Inputs{tensor(0, 4)}), "[5], in the model it has type 7 [4]"));
}

TEST(compiled_segment_that_cannot_be_one_is_refused) {
  CHECK(names(refusal(params("counting", 2)), "failed: wants a constant"));
  CHECK(names(refusal(params("half")), "create() and destroy()"));
  CHECK(names(refusal(params("cut_off")), "has 8 bytes"));
  const FakeOrt ort;
  CompiledParams missing = params("two_inputs");
  missing.library_path = "/nowhere/lib.so";
  CHECK(names(refusal(std::move(missing)), "/nowhere/lib.so"));
  CHECK(names(refusal(params("absent")), "'absent' is not there"));
  CHECK(names(refusal(params("newer")), "version 3"));
  CHECK(names(refusal(params("empty")), "lacks a function"));
  CHECK(names(refusal(params("no_outputs")), "0 outputs"));
  CHECK(names(refusal(params("two_inputs")), "has 2 inputs, the segment 1"));
  for (const char* symbol : {"absent", "newer", "empty"})
    CHECK(names(refusal(params(symbol)), library));
}

}  // namespace compiled_tests
