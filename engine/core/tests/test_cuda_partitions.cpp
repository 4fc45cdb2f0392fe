#include "cuda_fixtures.hpp"

namespace cuda_partitions_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr int on_cpu = 0, on_large = 1, on_small = 2;
constexpr std::size_t count = 10;

/// A chain whose nodes are on the two partitions in turn: 3 n + 1 nodes, n + 1 on the small one.
PlanPtr in_turn(const MachineOwner& machine, int nodes, bool captured) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input");
  builder.set_inputs({input});
  int last = builder.add_value("x");
  builder.add_copy("in", on_cpu, on_large, input, last);
  for (int i = 0; i < nodes; ++i) {
    const int next = builder.add_value("x");
    builder.add_node({.name = "n",
                      .device = i % 3 == 0 ? on_small : on_large,
                      .kernel = std::make_shared<GpuSum>(count, std::vector{count}),
                      .inputs = {last},
                      .outputs = {next},
                      .captured_ns = captured ? 0 : -1});
    last = next;
  }
  const int output = builder.add_value("output");
  builder.add_copy("out", on_large, on_cpu, last, output);
  builder.set_outputs({output});
  return builder.build();
}

void run_side_by_side(const MachineOwner& machine, const Plan& plan, int nodes) {
  std::vector<RunPtr> runs;
  for (int i = 0; i < 20; ++i)
    runs.push_back(machine->submit(plan, Inputs{host_numbers(i, count)}, {}));
  for (int i = 0; i < 20; ++i) {
    CHECK(runs[static_cast<std::size_t>(i)]->wait(0, true));
    CHECK(numbers_of(runs[static_cast<std::size_t>(i)]->outputs()[0]) == i + nodes);
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(work_stays_on_the_sms_of_its_partition) {
  const int each = std::min(lanes, 8);
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  {
    // 30 SMs become 32.
    MachineOwner machine(machine_of({cpu(1), partition(64, each), partition(30, each)}));
    CHECK(machine->device(on_large).warning().empty());
    const PlanPtr plan = in_turn(machine, 7, false);
    fake.seal(true);
    run_side_by_side(machine, *plan, 7);
    CHECK(fake.launches(64) == 20 * 4 && fake.launches(32) == 20 * 3 && fake.launches(0) == 0);
    CHECK(machine->stats().devices[on_small].executed == 20 * 3);
    CHECK(machine->stats().devices[on_large].executed == 20 * (4 + 2));  // and the copies
    fake.check_clean();
    fake.seal(false);
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(graphs_are_captured_on_the_lanes_of_their_partition) {
  const int each = std::min(lanes, 8);
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  {
    MachineOwner machine(machine_of({cpu(1), partition(64, each), partition(32, 1)}));
    const PlanPtr plan = in_turn(machine, 4, true);
    CHECK(plan->uncaptured().empty());
    run_side_by_side(machine, *plan, 4);
    CHECK(machine->stats().devices[on_small].replayed == 20 * 2);
    CHECK(machine->stats().devices[on_large].replayed == 20 * 2);
    // Each was launched to warm up, and captured.
    CHECK(fake.launches(32) == 2 * 2);
    CHECK(fake.launches(64) == 2U * 2 * static_cast<std::size_t>(each));
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(where_the_driver_cannot_divide_the_gpu_lanes_are_of_all_of_it) {
  for (const char* where : {"cuDeviceGetDevResource", "cuDevSmResourceSplitByCount",
                            "cuGreenCtxCreate", "cuGetProcAddress_v2"}) {
    const FakeCuda fake;
    {
      fake.inject(where, 1, 801);
      MachineOwner machine(machine_of({cpu(1), partition(64, 1), partition(32, 1)}));
      CHECK(contains(machine->device(on_small).warning(), "the GPU is not divided"));
      CHECK(contains(machine->device(on_large).warning(), "cu"));
      run_side_by_side(machine, *in_turn(machine, 4, false), 4);
      CHECK(fake.launches(0) == 20 * 4);
    }
    fake.check_clean();
    CHECK(fake.alive() == 0);
  }
}

TEST(a_lane_that_cannot_be_confined_is_of_all_of_the_gpu) {
  const FakeCuda fake;
  {
    fake.inject("cuGreenCtxStreamCreate", 1, 2);
    MachineOwner machine(machine_of({cpu(1), partition(64, 1), partition(32, 1)}));
    CHECK(contains(machine->device(on_large).warning(), "cuGreenCtxStreamCreate failed with"));
    run_side_by_side(machine, *in_turn(machine, 6, false), 6);
    CHECK(fake.launches(0) == 20 * 4 && fake.launches(32) == 20 * 2);
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(more_sms_than_there_are_cannot_be_had) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), partition(80, 1), partition(64, 1)}));
  CHECK(contains(machine->device(on_large).warning(),
                 "a partition of 64 SMs cannot be had of 52 that are left"));
}

TEST(a_missing_driver_is_named) {
  const FakeCuda fake;
  DeviceParams params = partition(64, 1);
  params.of<CudaParams>().driver = "/nowhere/libcuda.so.1";
  MachineOwner machine(machine_of({cpu(1), params}));
  CHECK(contains(machine->device(1).warning(), "/nowhere/libcuda.so.1"));
}

}  // namespace cuda_partitions_tests
