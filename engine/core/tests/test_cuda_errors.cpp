#include <algorithm>

#include "cuda_fixtures.hpp"

namespace cuda_errors_tests {

using namespace engine;
using namespace engine::test;

namespace {

/// Four branches of three nodes on the GPU behind one copy, each copied back.
PlanPtr branches(const MachineOwner& machine, std::size_t count = 10) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input"), moved = builder.add_value("moved");
  builder.set_inputs({input});
  builder.add_copy("in", 0, 1, input, moved);
  std::vector<int> outputs;
  for (int branch = 0; branch < 4; ++branch) {
    int last = moved;
    for (int i = 0; i < 3; ++i) {
      const int next = builder.add_value("x");
      builder.add_node({.name = "n",
                        .device = 1,
                        .kernel = std::make_shared<GpuSum>(count),
                        .inputs = {last},
                        .outputs = {next}});
      last = next;
    }
    outputs.push_back(builder.add_value("output"));
    builder.add_copy("out", 1, 0, last, outputs.back());
  }
  builder.set_outputs(outputs);
  return builder.build();
}

RunPtr run_once(const MachineOwner& machine, const Plan& plan) {
  return machine->run(plan, Inputs{host_numbers(1, 10)}, {}, 0);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(out_of_memory_fails_the_run_and_the_device_lives) {
  const FakeCuda fake;
  DeviceParams small = gpu(lanes);
  small.of<CudaParams>().reserve_bytes = 0;
  small.memory_bytes = 16U << 10;
  MachineOwner machine(machine_of({cpu(1), small}));
  const PlanPtr big = branches(machine, 1000), fits = branches(machine, 4);
  const RunPtr failed = run_once(machine, *big);
  CHECK(failed->outcome() == Outcome::failed);
  CHECK(contains(failed->error(), "out of GPU memory"));
  CHECK(run_once(machine, *fits)->outcome() == Outcome::ok);
  CHECK(machine->device(1).failure().empty());
  fake.check_clean();
}

TEST(a_launch_that_fails_with_a_recoverable_code_fails_its_run_alone) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  const PlanPtr plan = branches(machine);
  for (const int code : {2, 900}) {
    fake.inject("launch", 5, code);
    const RunPtr failed = run_once(machine, *plan);
    CHECK(failed->outcome() == Outcome::failed);
    CHECK(contains(failed->error(), "CUDA error " + std::to_string(code)));
    CHECK(run_once(machine, *plan)->outcome() == Outcome::ok);
  }
  CHECK(machine->device(1).failure().empty());
  fake.check_clean();
}

TEST(a_fatal_error_wherever_it_shows_loses_the_device_and_hangs_no_run) {
  for (const char* where : {"launch", "cudaMemcpyAsync", "cudaEventRecord", "cudaEventQuery",
                            "cudaStreamWaitEvent", "execute"})
    for (const int code : {700, 719, 46})
      for (const int nth : {1, 3, 8}) {
        const FakeCuda fake;
        {
          MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
          const PlanPtr plan = branches(machine);
          fake.inject(where, nth, code);
          std::vector<RunPtr> runs;
          for (int i = 0; i < 12; ++i)
            runs.push_back(machine->submit(*plan, Inputs{host_numbers(i, 10)}, {}));
          int failed = 0;
          for (const RunPtr& run : runs) {
            CHECK(run->wait(0, true));
            failed += run->outcome() == Outcome::failed ? 1 : 0;
          }
          // One lane issues no waits, so nothing fails there.
          if (failed == 0) continue;
          const std::string why = "CUDA error " + std::to_string(code);
          CHECK(contains(machine->device(1).failure(), why));
          const RunPtr later = run_once(machine, *plan);
          CHECK(later->outcome() == Outcome::failed);
          CHECK(contains(later->error(), "device 'cuda:0' is lost"));
          CHECK(contains(later->error(), why));
          runs.clear();
        }
        CHECK(fake.violations() == 0);
      }
}

TEST(a_value_that_is_not_on_the_gpu_fails_the_run_that_uses_it_there) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input"), output = builder.add_value("output");
  builder.set_inputs({input});
  builder.add_node({.name = "n",
                    .device = 1,
                    .kernel = std::make_shared<GpuSum>(1),
                    .inputs = {input},
                    .outputs = {output}});
  builder.set_outputs({output});
  const RunPtr run = run_once(machine, *builder.build());
  CHECK(contains(run->error(), "not in the GPU's memory"));
}

TEST(a_lost_gpu_can_be_opened_again_where_closing_it_resets_cuda) {
  for (const bool resets : {true, false}) {
    const FakeCuda fake;
    DeviceParams params = gpu(lanes);
    params.of<CudaParams>().resets_when_lost = resets;
    Inputs kept;
    PlanPtr old;
    {
      MachineOwner machine(machine_of({cpu(1), params}));
      old = branches(machine);
      kept = run_once(machine, *old)->outputs();
      fake.inject("execute", 5, 700);
      CHECK(run_once(machine, *old)->outcome() == Outcome::failed);
      CHECK(machine->is_lost());
    }
    std::string why;
    try {
      MachineOwner machine(machine_of({cpu(1), params}));
      CHECK(run_once(machine, *branches(machine))->outcome() == Outcome::ok);
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
    CHECK(why.empty() == resets);
    if (resets) CHECK(numbers_of(kept[0]) == 4);  // not in memory that the reset freed
    if (!resets) CHECK(contains(why, "700") && contains(why, "process must be restarted"));
    old.reset();
    CHECK(fake.violations() == 0);
  }
}

TEST(what_is_held_of_a_closed_device_is_not_freed_after_a_reset) {
  const FakeCuda fake;
  DeviceParams resetting = gpu(lanes);
  resetting.of<CudaParams>().resets_when_lost = true;
  Inputs held;
  {
    MachineOwner first(machine_of({cpu(1), gpu(lanes)}));
    held = run_once(first, *branches(first))->outputs();
  }
  {
    MachineOwner second(machine_of({cpu(1), resetting}));
    fake.inject("execute", 5, 700);
    CHECK(run_once(second, *branches(second))->outcome() == Outcome::failed);
  }
  held.clear();
  fake.check_clean();
}

TEST(the_last_device_of_a_gpu_that_one_has_lost_resets_cuda) {
  const FakeCuda fake;
  DeviceParams params = gpu(std::min(lanes, 7));  // the fake has streams for two such devices
  params.of<CudaParams>().resets_when_lost = true;
  const auto opens = [&params] {
    try {
      MachineOwner machine(machine_of({cpu(1), params}));
      return run_once(machine, *branches(machine))->outcome() == Outcome::ok;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  {
    MachineOwner other(machine_of({cpu(1), params}));  // does not hear of the loss
    {
      MachineOwner machine(machine_of({cpu(1), params}));
      const PlanPtr lost = branches(machine);
      fake.inject("execute", 5, 700);
      CHECK(run_once(machine, *lost)->outcome() == Outcome::failed);
    }
    CHECK(!opens());
    CHECK(!other->is_lost());
  }
  CHECK(opens());
}

}  // namespace cuda_errors_tests
