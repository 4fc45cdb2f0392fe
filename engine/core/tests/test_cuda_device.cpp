#include <algorithm>

#include "cuda_plans.hpp"

namespace cuda_device_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr int on_cpu = 0, on_gpu = 1;

/// A chain or a fan on the GPU alone.
PlanPtr gpu_chain(const MachineOwner& machine, int nodes) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input");
  builder.set_inputs({input});
  int last = builder.add_value("x");
  builder.add_copy("in", on_cpu, on_gpu, input, last);
  for (int i = 0; i < nodes; ++i) {
    const int next = builder.add_value("x");
    builder.add_node({.name = "n",
                      .device = on_gpu,
                      .kernel = std::make_shared<GpuSum>(10),
                      .inputs = {last},
                      .outputs = {next}});
    last = next;
  }
  const int output = builder.add_value("output");
  builder.add_copy("out", on_gpu, on_cpu, last, output);
  builder.set_outputs({output});
  return builder.build();
}

}  // namespace

TEST(a_chain_on_the_gpu_is_submitted_without_waiting_for_it) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  fake.seal(true);
  const PlanPtr plan = gpu_chain(machine, 50);
  for (int i = 0; i < 20; ++i) {
    const RunPtr run = machine->run(*plan, Inputs{host_numbers(i, 10)}, {}, 0);
    CHECK(run->outcome() == Outcome::ok);
    CHECK(numbers_of(run->outputs()[0]) == i + 50);
  }
  CHECK(machine->stats().devices[1].executed == 20 * 52);
  fake.check_clean();
  fake.seal(false);
}

TEST(random_plans_on_cpu_and_gpu_answer_right_and_break_no_rule) {
  std::mt19937 random(static_cast<unsigned>(lanes));
  const FakeCuda fake(random());
  {
    MachineOwner machine(machine_of({cpu(1 + lanes % 2), gpu(lanes)}));
    fake.seal(true);
    // 2,000 plans at each of five numbers of lanes
    CHECK(run_plans(machine, random, 200, false) == 0);
    fake.check_clean();
    CHECK(is_empty(machine));
    fake.seal(false);
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(the_same_where_graphs_are_captured_on_further_lanes_meanwhile) {
  std::mt19937 random(static_cast<unsigned>(lanes));
  const FakeCuda fake(random());
  {
    DeviceParams params = gpu(lanes);
    params.of<CudaParams>().lanes_at_once = 1;
    MachineOwner machine(machine_of({cpu(1 + lanes % 2), params}));
    CHECK(run_plans(machine, random, 40, true) == 0);
    fake.check_clean();
    CHECK(is_empty(machine));
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(cancelled_runs_end_behind_what_they_submitted) {
  std::mt19937 random(static_cast<unsigned>(lanes));
  const FakeCuda fake(random());
  {
    MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
    fake.seal(true);
    CHECK(run_plans(machine, random, 40, true) == 0);
    fake.check_clean();
    CHECK(is_empty(machine));
    fake.seal(false);
  }
  CHECK(fake.alive() == 0);
}

TEST(a_wait_that_is_left_out_is_noticed) {
  std::mt19937 random(7);
  const FakeCuda fake(random());
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  fake.ignore("cudaStreamWaitEvent");
  const int wrong = run_plans(machine, random, 20, false);
  CHECK(fake.violations() > 0);
  CHECK(wrong > 0);  // and the answers show it
  fake.ignore("");
}

TEST(traced_spans_of_a_lane_do_not_overlap) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  const PlanPtr plan = gpu_chain(machine, 20);
  RunOptions options;
  options.traced = true;
  const RunPtr run = machine->run(*plan, Inputs{host_numbers(1, 10)}, options, 0);
  const auto spans = run->spans();
  for (std::size_t i = 1; i < 21; ++i) {
    CHECK(spans[i].lane >= 0 && spans[i].lane < lanes);
    CHECK(spans[i].ready_ns <= spans[i].start_ns && spans[i].start_ns <= spans[i].end_ns);
    for (std::size_t k = 1; k < i; ++k)
      CHECK(spans[k].lane != spans[i].lane || spans[k].end_ns <= spans[i].start_ns);
  }
}

TEST(values_in_device_memory_may_outlive_the_machine) {
  const FakeCuda fake;
  Inputs kept;
  {
    MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
    PlanBuilder builder(machine.get());
    const int input = builder.add_value("input"), moved = builder.add_value("moved");
    builder.set_inputs({input});
    builder.add_copy("in", on_cpu, on_gpu, input, moved);
    builder.set_outputs({moved});
    const RunPtr run = machine->run(*builder.build(), Inputs{host_numbers(3, 10)}, {}, 0);
    kept = run->outputs();
  }
  CHECK(fake.alive() == 1);
  kept.clear();
  CHECK(fake.alive() == 0);
}

TEST(a_machine_says_what_it_cannot_have) {
  const FakeCuda fake;
  const auto refused = [](std::vector<DeviceParams> devices) {
    try {
      const MachineOwner machine(machine_of(std::move(devices)));
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  DeviceParams second = gpu(1), other = partition(8, 1), absent = gpu(1), wide = gpu(17),
               nowhere = gpu(1);
  absent.of<CudaParams>().ordinal = 3;
  other.of<CudaParams>().ordinal = 1;
  nowhere.of<CudaParams>().library = "/nowhere/libcudart.so";
  CHECK(refused({cpu(1), gpu(1), second}).find("a partition of some SMs") != std::string::npos);
  CHECK(refused({cpu(1), partition(8, 1), other}).find("GPU 1 does not exist") !=
        std::string::npos);
  CHECK(refused({cpu(1), partition(8, 9), partition(16, 8)}).find("16 lanes") != std::string::npos);
  CHECK(refused({cpu(1), gpu(1), emulated(1)}).find("emulated") != std::string::npos);
  CHECK(refused({cpu(1), absent}).find("GPU 3 does not exist") != std::string::npos);
  CHECK(refused({cpu(1), wide}).find("1 to 16") != std::string::npos);
  CHECK(refused({cpu(1), nowhere}).find("/nowhere/libcudart.so") != std::string::npos);
}

TEST(the_submitting_thread_has_a_core_of_the_budget_while_work_is_on_the_gpu) {
  const FakeCuda fake;
  MachineOwner machine({.devices = {cpu(1), gpu(lanes)}, .spin_ns = 0, .thread_budget = 1});
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input"), moved = builder.add_value("moved");
  builder.set_inputs({input});
  builder.add_copy("in", 0, 1, input, moved);
  const PlanPtr plan = builder.build();
  std::atomic<int> polls{0}, spinners{0};  // of another thread: seen after the run's end
  fake.during("cudaEventQuery", [&] {
    ++polls;
    if (!machine->budget().try_spin()) return;
    ++spinners;
    machine->budget().remove_running(1);
  });
  CHECK(machine->submit(*plan, Inputs{host_numbers(1, 10)}, {})->wait(0, false));
  fake.during("cudaEventQuery", {});
  CHECK(polls > 0 && spinners == 0);
  // And none while it sleeps.
  while (!machine->budget().try_spin()) std::this_thread::yield();
  machine->budget().remove_running(1);
}

}  // namespace cuda_device_tests
