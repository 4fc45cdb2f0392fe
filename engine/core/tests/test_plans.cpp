#include <random>

#include "fixtures.hpp"
#include "test.hpp"

namespace plans_tests {

using namespace engine;
using namespace engine::test;

namespace {

/// The message of the std::invalid_argument that `action` throws.
template <typename Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

bool names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(builder_refuses_what_is_wrong_and_names_it) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int value = builder.add_value("v");
  CHECK(names(refusal([&] { builder.add_node({.name = "far", .device = 1}); }), "'far'"));
  CHECK(names(refusal([&] { builder.add_node({.name = "fat", .width = lanes + 1}); }), "width"));
  CHECK(names(refusal([&] { builder.add_node({.name = "n", .inputs = {7}}); }), "value 7"));
  builder.add_node({.name = "maker", .outputs = {value}});
  CHECK(names(refusal([&] { builder.add_node({.name = "twin", .outputs = {value}}); }), "twice"));
  CHECK(names(refusal([&] { builder.set_inputs({value}); }), "'v' is written twice"));
  const int missing = builder.add_value("missing");
  builder.add_node({.name = "reader", .inputs = {missing}});
  CHECK(names(refusal([&] { static_cast<void>(builder.build()); }), "'missing' is never written"));
}

TEST(builder_refuses_cycles_and_unknown_nodes) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder cyclic(machine.get());
  cyclic.add_node({.name = "a", .after = {1}});
  cyclic.add_node({.name = "b", .after = {0}});
  CHECK(names(refusal([&] { static_cast<void>(cyclic.build()); }), "cycle"));
  PlanBuilder dangling(machine.get());
  dangling.add_node({.name = "a", .after = {5}});
  CHECK(names(refusal([&] { static_cast<void>(dangling.build()); }), "node 5"));
}

TEST(machine_refuses_bad_devices) {
  CHECK(names(refusal([] { MachineOwner machine(machine_of({cpu(0)})); }), "lanes"));
  CHECK(names(refusal([] { MachineOwner machine(machine_of({{.kind = "tpu"}})); }), "kind"));
  CHECK(names(refusal([] { MachineOwner machine(machine_of({})); }), "device"));
}

TEST(empty_plan_is_done_at_once) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int value = builder.add_value("v");
  builder.set_inputs({value});
  builder.set_outputs({value});
  const PlanPtr plan = builder.build();
  const RunPtr run = machine->run(*plan, Inputs{number(3)}, {}, 0);
  CHECK(run->outcome() == Outcome::ok);
  CHECK(number_of(run->outputs()[0]) == 3);
}

TEST(wrong_number_of_inputs_is_refused) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = PlanBuilder(machine.get()).build();
  CHECK(names(refusal([&] { static_cast<void>(machine->submit(*plan, Inputs{number(1)}, {})); }),
              "0 inputs"));
  CHECK(machine->stats().runs_in_flight == 0);
}

TEST(nodes_run_once_and_after_their_predecessors) {
  constexpr int nodes = 400;
  MachineOwner machine(machine_of({cpu(lanes), cpu(2)}));
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::atomic<int>> executed(nodes);
    std::atomic<int> violations{0};
    PlanBuilder builder(machine.get());
    for (int i = 0; i < nodes; ++i) {
      const std::vector<int> after = random_predecessors(i, random);
      const auto kernel = call([&executed, &violations, after, i] {
        // relaxed: the scheduler has to order these, not the test
        for (const int node : after)
          if (executed[static_cast<std::size_t>(node)].load(std::memory_order_relaxed) != 1)
            ++violations;
        if (executed[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed) != 0)
          ++violations;
      });
      builder.add_node({.name = std::to_string(i),
                        .device = static_cast<int>(random() % 2),
                        .kernel = kernel,
                        .after = after,
                        .rank = static_cast<int>(random() % 50)});
    }
    const PlanPtr plan = builder.build();
    for (int repeat = 0; repeat < 4; ++repeat) {
      for (auto& count : executed) count = 0;
      const RunPtr run =
          repeat % 2 == 0 ? machine->run(*plan, {}, {}, 0) : machine->submit(*plan, {}, {});
      run->wait(0, repeat == 3);
      CHECK(run->outcome() == Outcome::ok);
      CHECK(violations == 0);
      for (const auto& count : executed) CHECK(count == 1);
    }
  }
}

TEST(values_flow_and_are_freed_at_their_last_use) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int in = builder.add_value("in"), a = builder.add_value("a"), b = builder.add_value("b");
  const int unused = builder.add_value("unused"), out = builder.add_value("out");
  const auto sum = std::make_shared<SumKernel>();
  builder.set_inputs({in});
  builder.add_node({.name = "a", .kernel = sum, .inputs = {in, in}, .outputs = {a, unused}});
  builder.add_node({.name = "b", .kernel = sum, .inputs = {a, -1}, .outputs = {b}});
  builder.add_node({.name = "c", .kernel = sum, .inputs = {a, b, in}, .outputs = {out}});
  builder.set_outputs({out, in});
  const PlanPtr plan = builder.build();
  for (int i = 0; i < 50; ++i) {
    std::weak_ptr<const Value> input;
    {
      const Inputs inputs{number(i)};
      input = inputs[0];
      const RunPtr run = machine->run(*plan, inputs, {}, 0);
      CHECK(number_of(run->outputs()[0]) == (2 * i + 1) + (2 * i + 2) + i + 1);
      CHECK(number_of(run->outputs()[1]) == i);
      CHECK(machine->stats().live_values == 2);
    }
    CHECK(is_empty(machine));
    CHECK(input.expired());
  }
}

TEST(an_output_that_is_an_input_is_a_copy) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int in = builder.add_value("in"), other = builder.add_value("other");
  const int made = builder.add_value("made");
  builder.set_inputs({other, in});
  builder.add_node({.name = "a",
                    .kernel = std::make_shared<SumKernel>(),
                    .inputs = {in, other},
                    .outputs = {made}});
  builder.set_outputs({made, in});
  const PlanPtr plan = builder.build();
  const ValuePtr given = std::make_shared<Number>(3, 8, true);
  const RunPtr run = machine->run(*plan, Inputs{number(1), given}, {}, 0);
  CHECK(run->outputs()[1] != given);
  CHECK(number_of(run->outputs()[1]) == 3);
  CHECK(number_of(run->outputs()[0]) == 5);
  const ValuePtr own = number(4);
  CHECK(machine->run(*plan, Inputs{given, own}, {}, 0)->outputs()[1] == own);
}

TEST(one_that_fails_keeps_no_output_while_it_is_held) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int in = builder.add_value("in"), kept = builder.add_value("kept");
  const int never = builder.add_value("never");
  builder.set_inputs({in});
  const int first = builder.add_node(
      {.name = "a", .kernel = std::make_shared<SumKernel>(), .inputs = {in}, .outputs = {kept}});
  const auto fails = call([] { throw std::runtime_error("no"); });
  builder.add_node(
      {.name = "b", .kernel = fails, .inputs = {in}, .outputs = {never}, .after = {first}});
  builder.set_outputs({kept, never, in});
  const RunPtr run = machine->run(*builder.build(), Inputs{number(1)}, {}, 0);
  CHECK(run->outcome() == Outcome::failed);
  CHECK(is_empty(machine));
}

TEST(spans_say_who_ran_when) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int first = builder.add_node({.name = "first"});
  for (int i = 0; i < 20; ++i) builder.add_node({.name = "next", .after = {first}});
  const PlanPtr plan = builder.build();
  RunOptions options;
  options.traced = true;
  const RunPtr run = machine->run(*plan, {}, options, 0);
  CHECK(run->spans().size() == 21);
  for (const NodeSpan& span : run->spans()) {
    CHECK(span.lane >= 0);
    CHECK(span.lane < lanes);
    CHECK(run->submitted_ns() <= span.ready_ns);
    CHECK(span.ready_ns <= span.start_ns);
    CHECK(span.start_ns <= span.end_ns);
  }
  for (const NodeSpan& span : run->spans().subspan(1))
    CHECK(span.ready_ns >= run->spans()[0].end_ns);
}

}  // namespace plans_tests
