#include <algorithm>

#include "fixtures.hpp"
#include "test.hpp"

namespace emulated_tests {

using namespace engine;
using namespace engine::test;

namespace {

RunOptions traced() {
  RunOptions options;
  options.traced = true;
  return options;
}

std::int64_t duration(const NodeSpan& span) { return span.end_ns - span.start_ns; }

bool overlap(const NodeSpan& a, const NodeSpan& b) {
  return a.start_ns < b.end_ns && b.start_ns < a.end_ns;
}

NodeSpec charged(std::string name, std::int64_t service_ns, std::vector<int> after = {}) {
  return {
      .name = std::move(name), .device = 1, .after = std::move(after), .service_ns = service_ns};
}

}  // namespace

TEST(lanes_overlap_and_each_runs_one_node_at_a_time) {
  MachineOwner machine(machine_of({cpu(1), emulated(lanes)}));
  PlanBuilder builder(machine.get());
  const int nodes = 2 * lanes;
  for (int i = 0; i < nodes; ++i) builder.add_node(charged("n", 1'000'000));
  const RunPtr run = machine->run(*builder.build(), {}, traced(), 0);
  const auto spans = run->spans();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    CHECK(duration(spans[i]) == 1'000'000);
    for (std::size_t k = 0; k < i; ++k)
      CHECK(spans[i].lane != spans[k].lane || !overlap(spans[i], spans[k]));
  }
  for (int i = 1; i < lanes; ++i) CHECK(overlap(spans[0], spans[static_cast<std::size_t>(i)]));
}

TEST(dependent_nodes_lose_no_time_to_late_wake_ups) {
  MachineOwner machine(machine_of({cpu(lanes), emulated(lanes)}));
  PlanBuilder builder(machine.get());
  int last = builder.add_node(charged("n", 200'000));
  for (int i = 0; i < 9; ++i) last = builder.add_node(charged("n", 200'000, {last}));
  const RunPtr run = machine->run(*builder.build(), {}, traced(), 0);
  const auto spans = run->spans();
  for (std::size_t i = 1; i < spans.size(); ++i) {
    CHECK(spans[i].ready_ns == spans[i - 1].end_ns);
    // It was submitted while the one before it ran.
    CHECK(spans[i].start_ns == spans[i - 1].end_ns);
  }
}

TEST(busy_lanes_slow_each_other) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().submit_ns = 0;
  gpu.of<EmulatedParams>().slowdown = {1.0, 1.5};
  MachineOwner machine(machine_of({cpu(1), gpu}));
  PlanBuilder builder(machine.get());
  const int first = builder.add_node(charged("first", 1'000));
  builder.add_node(charged("a", 10'000'000, {first}));
  builder.add_node(charged("b", 10'000'000, {first}));
  const RunPtr run = machine->run(*builder.build(), {}, traced(), 0);
  for (const std::size_t i : {1, 2})
    CHECK(duration(run->spans()[i]) == (lanes == 1 ? 10'000'000 : 15'000'000));
}

TEST(one_thread_submits_to_all_lanes) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().submit_ns = 300'000;
  MachineOwner machine(machine_of({cpu(1), gpu}));
  PlanBuilder builder(machine.get());
  for (int i = 0; i < lanes; ++i) builder.add_node(charged("n", 20'000'000));
  const RunPtr run = machine->run(*builder.build(), {}, traced(), 0);
  const auto spans = run->spans();
  for (std::size_t i = 0; i < spans.size(); ++i)
    CHECK(spans[i].start_ns == spans[i].ready_ns + static_cast<std::int64_t>(i + 1) * 300'000);
}

TEST(operators_launched_one_by_one_hold_the_submitting_thread) {
  MachineOwner machine(machine_of({cpu(1), emulated(2)}));
  PlanBuilder builder(machine.get());
  NodeSpec first = charged("first", 5'000'000);
  first.launch_ns = 3'000'000;
  builder.add_node(first);
  builder.add_node(charged("second", 5'000'000));
  const RunPtr run = machine->run(*builder.build(), {}, traced(), 0);
  const NodeSpan a = run->spans()[0], b = run->spans()[1];
  CHECK(a.start_ns == a.ready_ns + 1'000);
  CHECK(b.start_ns == a.start_ns + 3'000'000 + 1'000);
}

TEST(a_captured_node_is_launched_at_once) {
  DeviceParams gpu = emulated(2), refusing = emulated(2);
  refusing.of<EmulatedParams>().fail_capture = true;
  gpu.of<EmulatedParams>().capture_ns = 200'000;
  for (const DeviceParams& params : {gpu, refusing}) {
    MachineOwner machine(machine_of({cpu(1), params}));
    PlanBuilder builder(machine.get());
    const bool is_captured = !params.get<EmulatedParams>().fail_capture;
    // A machine that is busy elsewhere takes milliseconds, never an hour.
    const std::int64_t uncaptured_ns = is_captured ? 3'600'000'000'000 : 5'000'000;
    NodeSpec spec = charged("first", uncaptured_ns);
    spec.kernel = call([] {});
    spec.launch_ns = 4'000'000;
    spec.captured_ns = 1'000'000;
    builder.add_node(spec);
    builder.add_node(charged("second", 1'000'000));
    const PlanPtr plan = builder.build();
    CHECK(plan->node(0).is_captured == is_captured);
    for (const std::int64_t capture_ns : {200'000, 0}) {
      const RunPtr run = machine->run(*plan, {}, traced(), 0);
      const NodeSpan a = run->spans()[0], b = run->spans()[1];
      CHECK(duration(a) >= (is_captured ? 1'000'000 + capture_ns : uncaptured_ns));
      if (is_captured) CHECK(duration(a) < uncaptured_ns);
      CHECK(b.start_ns == a.start_ns + (is_captured ? 0 : 4'000'000) + 1'000);
    }
  }
}

TEST(a_successor_on_the_device_waits_for_all_it_needs) {
  // b and c fork from a and meet in d: submitted ahead, each starts when its inputs are there.
  MachineOwner machine(machine_of({cpu(1), emulated(lanes)}));
  PlanBuilder builder(machine.get());
  const int a = builder.add_node(charged("a", 2'000'000));
  const int b = builder.add_node(charged("b", 3'000'000, {a}));
  const int c = builder.add_node(charged("c", 5'000'000, {a}));
  builder.add_node(charged("d", 1'000'000, {b, c}));
  const PlanPtr plan = builder.build();
  for (int i = 0; i < 20; ++i) {
    const RunPtr run = machine->run(*plan, {}, traced(), 0);
    const auto spans = run->spans();
    CHECK(spans[1].start_ns == spans[0].end_ns);
    CHECK(spans[2].start_ns == (lanes == 1 ? spans[1].end_ns : spans[0].end_ns + 1'000));
    CHECK(spans[3].start_ns == spans[2].end_ns);
    CHECK(spans[3].ready_ns == spans[2].end_ns);
  }
}

TEST(branches_on_two_devices_overlap) {
  MachineOwner machine(machine_of({cpu(lanes), emulated(1)}));
  PlanBuilder builder(machine.get());
  builder.add_node(charged("gpu", 5'000'000));
  builder.add_node({.name = "cpu", .kernel = call([] {
                                     for (const std::int64_t end_ns = now_ns() + 2'000'000;
                                          now_ns() < end_ns;)
                                       cpu_relax();
                                   })});
  const PlanPtr plan = builder.build();
  // Where others hold the cores, one may begin when the other has ended: in one of many tries not.
  bool overlapped = false;
  for (int tries = 0; tries < 1'000 && !overlapped; ++tries) {
    const RunPtr run = machine->run(*plan, {}, traced(), 0);
    overlapped = overlap(run->spans()[0], run->spans()[1]);
  }
  CHECK(overlapped);
}

TEST(copies_over_one_link_queue_up_and_both_directions_overlap) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().h2d_latency_ns = gpu.of<EmulatedParams>().d2h_latency_ns = 1'000;
  gpu.of<EmulatedParams>().h2d_bytes_per_s = gpu.of<EmulatedParams>().d2h_bytes_per_s = 1e9;
  MachineOwner machine(machine_of({cpu(lanes), gpu}));
  PlanBuilder builder(machine.get());
  const int in = builder.add_value("in");
  builder.set_inputs({in});
  std::vector<int> outputs;
  for (int i = 0; i < 2; ++i) {
    const int there = builder.add_value("there");
    outputs.push_back(builder.add_value("back"));
    builder.add_copy("up", 0, 1, in, there);
    builder.add_copy("down", 1, 0, there, outputs.back());
  }
  builder.set_outputs(outputs);
  const RunPtr run = machine->run(*builder.build(), Inputs{number(7, 1'000'000)}, traced(), 0);
  CHECK(number_of(run->outputs()[0]) == 7);
  const NodeSpan up = run->spans()[0], down = run->spans()[1], second_up = run->spans()[2];
  CHECK(duration(up) == 1'001'000);
  CHECK(second_up.start_ns == up.start_ns + 1'000'000);
  CHECK(down.start_ns == up.end_ns);
  CHECK(overlap(down, second_up));
}

namespace {

/// Copies of a megabyte to the device, all at once.
std::vector<NodeSpan> copies_up(DeviceParams gpu, int count, std::int64_t beside_ns = 0) {
  gpu.of<EmulatedParams>().h2d_latency_ns = 2'000;
  gpu.of<EmulatedParams>().h2d_bytes_per_s = 1e9;
  MachineOwner machine(machine_of({cpu(1), gpu}));
  PlanBuilder builder(machine.get());
  const int in = builder.add_value("in");
  builder.set_inputs({in});
  std::vector<int> outputs;
  for (int i = 0; i < count; ++i) {
    outputs.push_back(builder.add_value("there"));
    builder.add_copy("up", 0, 1, in, outputs.back(), i);
  }
  if (beside_ns != 0) builder.add_node(charged("beside", beside_ns));
  builder.set_outputs(outputs);
  const RunPtr run = machine->run(*builder.build(), Inputs{number(7, 1'000'000)}, traced(), 0);
  return {run->spans().begin(), run->spans().end()};
}

}  // namespace

TEST(copies_hold_their_link_for_its_occupancy) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().h2d_occupancy_ns = 30'000;
  const auto spans = copies_up(gpu, 3);
  for (const NodeSpan& span : spans) CHECK(duration(span) == 1'032'000);
  CHECK(spans[1].start_ns == spans[0].start_ns + 1'030'000);
  CHECK(spans[2].start_ns == spans[1].start_ns + 1'030'000);
}

TEST(a_full_staging_pool_holds_copies_back) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().staging_bytes =
      1'500'000;  // one copy at a time, until its data is there
  const auto spans = copies_up(gpu, 3);
  CHECK(spans[1].start_ns == spans[0].end_ns);
  CHECK(spans[2].start_ns == spans[1].end_ns);
  gpu.of<EmulatedParams>().staging_bytes =
      100'000;  // smaller than a copy: the same, not a deadlock
  const auto large = copies_up(gpu, 2);
  CHECK(large[1].start_ns == large[0].end_ns);
}

TEST(pageable_copies_hold_the_submitting_thread) {
  DeviceParams gpu = emulated(lanes);
  const auto pinned = copies_up(gpu, 1, 100'000);
  CHECK(pinned[1].start_ns == pinned[1].ready_ns + 1'000);
  gpu.of<EmulatedParams>().pageable = true;
  const auto pageable = copies_up(gpu, 1, 100'000);
  CHECK(pageable[1].start_ns == pageable[0].start_ns + 1'000'000 + 1'000);
}

TEST(copies_between_two_emulated_devices_go_through_the_host) {
  DeviceParams gpu = emulated(1);
  gpu.of<EmulatedParams>().h2d_latency_ns = gpu.of<EmulatedParams>().d2h_latency_ns = 2'000;
  gpu.of<EmulatedParams>().h2d_bytes_per_s = gpu.of<EmulatedParams>().d2h_bytes_per_s = 1e9;
  gpu.of<EmulatedParams>().h2d_occupancy_ns = gpu.of<EmulatedParams>().d2h_occupancy_ns = 500;
  MachineOwner machine(machine_of({cpu(1), gpu, gpu}));
  PlanBuilder builder(machine.get());
  const int in = builder.add_value("in"), out = builder.add_value("out");
  builder.set_inputs({in});
  builder.add_copy("over", 1, 2, in, out);
  builder.set_outputs({out});
  const RunPtr run = machine->run(*builder.build(), Inputs{number(7, 1'000'000)}, traced(), 0);
  CHECK(duration(run->spans()[0]) == 2'000'000 + 4'000 + 1'000);
}

TEST(memory_exhaustion_fails_the_run_that_asked) {
  DeviceParams gpu = emulated(lanes);
  gpu.memory_bytes = 1'000;
  MachineOwner machine(machine_of({cpu(lanes), gpu}));
  PlanBuilder builder(machine.get());
  const int a = builder.add_value("a"), b = builder.add_value("b");
  const auto sum = std::make_shared<SumKernel>(600);
  builder.add_node({.name = "fits", .device = 1, .kernel = sum, .outputs = {a}});
  builder.add_node({.name = "bursts", .device = 1, .kernel = sum, .inputs = {a}, .outputs = {b}});
  builder.set_outputs({a, b});
  const PlanPtr plan = builder.build();
  for (int i = 0; i < 3; ++i) {
    const RunPtr run = machine->run(*plan, {}, {}, 0);
    CHECK(run->outcome() == Outcome::failed);
    CHECK(
        run->error() ==
        "segment 'bursts': emulated device 'gpu' out of memory: needs 600 bytes, has 400 of 1000");
  }
  CHECK(is_empty(machine));
}

TEST(every_nth_execution_fails_if_told_to) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().fail_every = 3;
  MachineOwner machine(machine_of({cpu(lanes), gpu}));
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "n", .device = 1, .kernel = std::make_shared<SumKernel>()});
  const PlanPtr plan = builder.build();
  for (int i = 1; i <= 9; ++i) {
    const RunPtr run = machine->run(*plan, {}, {}, 0);
    CHECK((run->outcome() == Outcome::failed) == (i % 3 == 0));
  }
}

TEST(refused_kernels_fail_at_plan_time) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().fail_prepare = true;
  MachineOwner machine(machine_of({cpu(lanes), gpu}));
  bool refused = false;
  try {
    PlanBuilder(machine.get())
        .add_node({.name = "n", .device = 1, .kernel = std::make_shared<SumKernel>()});
  } catch (const std::runtime_error&) {
    refused = true;
  }
  CHECK(refused);
}

TEST(replay_computes_once_and_the_first_run_costs_more) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().replay = true;
  gpu.of<EmulatedParams>().first_run_ns = 50'000;
  MachineOwner machine(machine_of({cpu(lanes), gpu}));
  PlanBuilder builder(machine.get());
  const int in = builder.add_value("in"), out = builder.add_value("out");
  const auto sum = std::make_shared<SumKernel>();
  builder.set_inputs({in});
  builder.add_node({.name = "n",
                    .device = 1,
                    .kernel = sum,
                    .inputs = {in},
                    .outputs = {out},
                    .service_ns = 100'000});
  builder.set_outputs({out});
  const PlanPtr plan = builder.build();
  for (int i = 0; i < 4; ++i) {
    const RunPtr run = machine->run(*plan, Inputs{number(5 + i)}, traced(), 0);
    CHECK(number_of(run->outputs()[0]) == 6);
    CHECK(duration(run->spans()[0]) == (i == 0 ? 150'000 : 100'000));
  }
  CHECK(sum->executions() == 1);
  CHECK(is_empty(machine));
}

TEST(cancel_does_not_wait_for_the_clock) {
  MachineOwner machine(machine_of({cpu(lanes), emulated(lanes)}));
  PlanBuilder builder(machine.get());
  builder.add_node(charged("years", 100'000'000'000'000'000));
  const PlanPtr plan = builder.build();
  const RunPtr run = machine->submit(*plan, {}, {});
  run->cancel();
  run->wait(0, true);
  CHECK(run->outcome() == Outcome::cancelled);
}

TEST(work_flows_between_all_devices) {
  DeviceParams gpu = emulated(lanes);
  gpu.of<EmulatedParams>().h2d_latency_ns = gpu.of<EmulatedParams>().d2h_latency_ns = 100;
  gpu.of<EmulatedParams>().submit_ns = 100;
  MachineOwner machine(machine_of({cpu(lanes), gpu, gpu}));
  PlanBuilder builder(machine.get());
  const auto sum = std::make_shared<SumKernel>();
  int value = builder.add_value("in");
  builder.set_inputs({value});
  for (int i = 0; i < 12; ++i) {
    const int device = i % 3, next = (i + 1) % 3;
    const int made = builder.add_value("made"), moved = builder.add_value("moved");
    builder.add_node({.name = "n",
                      .device = device,
                      .kernel = sum,
                      .inputs = {value},
                      .outputs = {made},
                      .service_ns = 1'000});
    builder.add_copy("copy", device, next, made, moved);
    value = moved;
  }
  builder.set_outputs({value});
  const PlanPtr plan = builder.build();
  std::vector<RunPtr> runs;
  for (int i = 0; i < 30; ++i) runs.push_back(machine->submit(*plan, Inputs{number(i)}, {}));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i]->wait(0, true);
    CHECK(number_of(runs[i]->outputs()[0]) == static_cast<std::int64_t>(i) + 12);
  }
  runs.clear();
  CHECK(is_empty(machine));
}

TEST(deadlines_end_what_runs_and_what_waits_for_a_lane) {
  MachineOwner machine(machine_of({cpu(1), emulated(lanes)}));
  PlanBuilder builder(machine.get());
  // An hour on every lane, and one node more that waits for one.
  for (int i = 0; i <= lanes; ++i) builder.add_node(charged("n", 3'600'000'000'000));
  const auto plan = builder.build();
  RunOptions options;
  options.deadline_ns = now_ns() + 5'000'000;
  const RunPtr late = machine->run(*plan, {}, options, 0);
  CHECK(late->outcome() == Outcome::deadline);
  CHECK(machine->stats().live_values == 0);
}

TEST(a_deadline_behind_another_run_is_kept) {
  MachineOwner machine(machine_of({cpu(1), emulated(lanes)}));
  PlanBuilder builder(machine.get());
  for (int i = 0; i < lanes; ++i) builder.add_node(charged("n", 3'600'000'000'000));
  const auto plan = builder.build();
  const RunPtr endless = machine->submit(*plan, {}, {});
  RunOptions options;
  options.deadline_ns = now_ns() + 5'000'000;
  CHECK(machine->run(*plan, {}, options, 0)->outcome() == Outcome::deadline);
  CHECK(!endless->done());
  endless->cancel();
  CHECK(endless->wait(0, false));
}

}  // namespace emulated_tests
