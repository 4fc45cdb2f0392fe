#include <thread>

#include "cuda_fixtures.hpp"

namespace cuda_graphs_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::size_t count = 10;

/// x + 1 + ... + 1 on the GPU, each node captured if it can be.
PlanPtr chain(const MachineOwner& machine, int nodes, bool has_graphs = true) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input");
  builder.set_inputs({input});
  int last = builder.add_value("x");
  builder.add_copy("in", 0, 1, input, last);
  for (int i = 0; i < nodes; ++i) {
    const int next = builder.add_value("x");
    const auto sizes = has_graphs ? std::vector{count} : std::vector<std::size_t>();
    builder.add_node({.name = "n",
                      .device = 1,
                      .kernel = std::make_shared<GpuSum>(count, sizes),
                      .inputs = {last},
                      .outputs = {next},
                      .captured_ns = 0});
    last = next;
  }
  const int output = builder.add_value("output");
  builder.add_copy("out", 1, 0, last, output);
  builder.set_outputs({output});
  return builder.build();
}

std::int64_t answer(const MachineOwner& machine, const Plan& plan, std::size_t size = count) {
  const RunPtr run = machine->run(plan, Inputs{host_numbers(1, size)}, {}, 0);
  CHECK(run->outcome() == Outcome::ok);
  return numbers_of(run->outputs()[0]);
}

std::uint64_t replayed(const MachineOwner& machine) { return machine->stats().devices[1].replayed; }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(captured_nodes_are_replayed_by_runs_side_by_side) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  {
    MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
    const PlanPtr plan = chain(machine, 5);
    CHECK(plan->uncaptured().empty() && plan->node(1).is_captured && plan->node(5).is_captured);
    fake.seal(true);
    std::vector<RunPtr> runs;
    for (int i = 0; i < 40; ++i)
      runs.push_back(machine->submit(*plan, Inputs{host_numbers(i, count)}, {}));
    for (int i = 0; i < 40; ++i) {
      CHECK(runs[static_cast<std::size_t>(i)]->wait(0, true));
      CHECK(numbers_of(runs[static_cast<std::size_t>(i)]->outputs()[0]) == i + 5);
    }
    CHECK(replayed(machine) == 40 * 5);
    fake.check_clean();
    fake.seal(false);
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(where_capture_fails_operators_are_launched_and_the_plan_says_why) {
  // The chain's second launch of all is captured; the first warms up.
  const std::vector<std::pair<const char*, int>> places{{"cudaStreamBeginCapture", 1},
                                                        {"cudaStreamEndCapture", 1},
                                                        {"cudaGraphInstantiate", 1},
                                                        {"launch", 1},
                                                        {"launch", 2},
                                                        {"cudaGraphInstantiate", lanes}};
  for (const auto& [where, nth] : places) {
    const FakeCuda fake;
    {
      MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
      fake.inject(where, nth, 900);
      const PlanPtr plan = chain(machine, 3);
      CHECK(plan->uncaptured().size() == 1 && plan->uncaptured()[0].first == 1);
      CHECK(contains(plan->uncaptured()[0].second, "CUDA error 900"));
      CHECK(!plan->node(1).is_captured && plan->node(2).is_captured);
      CHECK(answer(machine, *plan) == 4);
      CHECK(replayed(machine) == 2);
      CHECK(machine->device(1).failure().empty());
    }
    fake.check_clean();
    CHECK(fake.alive() == 0);
  }
}

TEST(kernels_without_graphs_say_so) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  const PlanPtr plan = chain(machine, 2, false);
  CHECK(plan->uncaptured().size() == 2);
  CHECK(contains(plan->uncaptured()[0].second, "no graphs"));
  CHECK(answer(machine, *plan) == 3 && replayed(machine) == 0);
}

TEST(inputs_of_other_sizes_are_answered_without_the_graph) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  const PlanPtr plan = chain(machine, 1);
  CHECK(answer(machine, *plan, 3) == 2 && replayed(machine) == 0);
  CHECK(answer(machine, *plan) == 2 && replayed(machine) == 1);
  fake.check_clean();
}

TEST(a_graph_that_cannot_be_launched_fails_its_run_and_is_used_no_more) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  const PlanPtr plan = chain(machine, 1);
  fake.inject("cudaGraphLaunch", 1, 2);
  const RunPtr failed = machine->run(*plan, Inputs{host_numbers(1, count)}, {}, 0);
  CHECK(contains(failed->error(), "cudaGraphLaunch failed with CUDA error 2"));
  CHECK(answer(machine, *plan) == 2 && replayed(machine) == 0);
  fake.check_clean();
}

TEST(a_fatal_error_during_a_capture_loses_the_device) {
  const FakeCuda fake;
  {
    MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
    fake.inject("cudaGraphInstantiate", 1, 700);
    std::string why;
    try {
      const PlanPtr plan = chain(machine, 2);
      const RunPtr run = machine->run(*plan, Inputs{host_numbers(1, count)}, {}, 0);
      why = run->error();
    } catch (const std::exception& error) {
      why = error.what();  // it was lost before the second node was prepared
    }
    CHECK(contains(why, "is lost") && contains(why, "CUDA error 700"));
  }
  fake.check_clean();
}

TEST(memory_goes_back_to_the_device_with_the_plan) {
  const FakeCuda fake;
  DeviceParams params = gpu(lanes);
  params.of<CudaParams>().reserve_bytes = 0;
  MachineOwner machine(machine_of({cpu(1), params}));
  {
    const PlanPtr plan = chain(machine, 3);
    CHECK(answer(machine, *plan) == 4);
    const DeviceStats stats = machine->stats().devices[1];
    // Of each graph its input, output and scratch memory, on every lane.
    CHECK(stats.used_bytes == 3U * 3 * 256 * static_cast<std::size_t>(lanes));
    CHECK(stats.memory_bytes >= stats.used_bytes);
  }
  while (machine->stats().devices[1].memory_bytes != 0) std::this_thread::yield();
  CHECK(machine->stats().devices[1].used_bytes == 0);
  fake.check_clean();
}

}  // namespace cuda_graphs_tests
