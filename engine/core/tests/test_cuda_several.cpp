#include <string>

#include "cuda_plans.hpp"

namespace cuda_several_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr int on_cpu = 0, on_first = 1, on_second = 2;
constexpr std::size_t count = 10;

/// Lanes of each: the fake has streams for two such GPUs.
int each(int lanes) { return std::min(lanes, 8); }

MachineOwner two_gpus(int lanes) {
  return MachineOwner(machine_of({cpu(1), gpu_number(0, each(lanes)), gpu_number(1, each(lanes))}));
}

int add_sum(PlanBuilder& builder, int device, int input) {
  const int made = builder.add_value("x");
  builder.add_node({.name = "n",
                    .device = device,
                    .kernel = std::make_shared<GpuSum>(count),
                    .inputs = {input},
                    .outputs = {made}});
  return made;
}

int add_copy(PlanBuilder& builder, int source, int target, int value) {
  const int copied = builder.add_value("copied");
  builder.add_copy("copy", source, target, value, copied);
  return copied;
}

/// A chain of nodes on devices in their order, copied where one follows on another; from the CPU to
/// the CPU.
PlanPtr chain(const MachineOwner& machine, const std::vector<int>& devices) {
  PlanBuilder builder(machine.get());
  int last = builder.add_value("input"), at = on_cpu;
  builder.set_inputs({last});
  for (const int device : devices) {
    if (at != device) last = add_copy(builder, at, device, last);
    last = add_sum(builder, device, last);
    at = device;
  }
  builder.set_outputs({add_copy(builder, at, on_cpu, last)});
  return builder.build();
}

RunPtr run_once(const MachineOwner& machine, const Plan& plan) {
  return machine->run(plan, Inputs{host_numbers(1, count)}, {}, 0);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(random_plans_on_two_gpus_answer_right_and_break_no_rule) {
  for (const bool has_peers : {true, false}) {
    std::mt19937 random(static_cast<unsigned>(lanes));
    const FakeCuda fake(random());
    fake.gpus(2, has_peers);
    {
      const MachineOwner machine = two_gpus(lanes);
      fake.seal(true);
      CHECK(run_plans(machine, random, 60, false) == 0);
      CHECK(run_plans(machine, random, 20, true) == 0);
      fake.check_clean();
      CHECK(is_empty(machine));
      CHECK(fake.peer_copies(has_peers) > 0 && fake.peer_copies(!has_peers) == 0);
      fake.seal(false);
    }
    fake.check_clean();
    CHECK(fake.alive() == 0);
  }
}

TEST(a_copy_between_gpus_does_not_pass_through_the_host) {
  const FakeCuda fake;
  fake.gpus(2);
  {
    const MachineOwner machine = two_gpus(lanes);
    const PlanPtr plan = chain(machine, {on_first, on_second, on_second, on_first});
    CHECK(numbers_of(run_once(machine, *plan)->outputs()[0]) == 5);
    CHECK(fake.peer_copies(true) == 2);
    // Nodes and copies, of which each GPU makes those that come to it, and those to the host.
    CHECK(machine->stats().devices[on_first].executed == 2 + 3);
    CHECK(machine->stats().devices[on_second].executed == 2 + 1);
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(partitions_of_several_gpus_are_of_the_gpu_that_they_name) {
  const FakeCuda fake;
  fake.gpus(2);
  DeviceParams large = partition(64, 1), small = partition(32, 1);
  large.name = "cuda:1[64sm]", small.name = "cuda:1[32sm]";
  large.of<CudaParams>().ordinal = small.of<CudaParams>().ordinal = 1;
  {
    const MachineOwner machine(machine_of({cpu(1), large, gpu_number(0, 1), small}));
    CHECK(machine->device(1).warning().empty());
    CHECK(machine->device(1).shares_memory_with(machine->device(3)));
    CHECK(!machine->device(1).shares_memory_with(machine->device(2)));
    const PlanPtr plan = chain(machine, {1, 3, 2, 3, 1});
    CHECK(numbers_of(run_once(machine, *plan)->outputs()[0]) == 6);
    CHECK(fake.launches(64) == 2 && fake.launches(32) == 2 && fake.launches(0) == 1);
    CHECK(fake.peer_copies(true) == 2);
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(each_gpu_has_its_own_limit_of_memory) {
  const FakeCuda fake;
  fake.gpus(2);
  DeviceParams tight = gpu_number(1, 1);
  tight.of<CudaParams>().reserve_bytes = 0;
  tight.memory_bytes = 16U << 10;
  const auto big = [](const MachineOwner& machine, int device) {
    PlanBuilder builder(machine.get());
    const int input = builder.add_value("input");
    builder.set_inputs({input});
    const int output = builder.add_value("x");
    builder.add_node({.name = "n",
                      .device = device,
                      .kernel = std::make_shared<GpuSum>(4'000),
                      .inputs = {add_copy(builder, on_cpu, device, input)},
                      .outputs = {output}});
    return builder.build();
  };
  const MachineOwner machine(machine_of({cpu(1), gpu_number(0, 1), tight}));
  CHECK(run_once(machine, *big(machine, on_first))->outcome() == Outcome::ok);
  const RunPtr failed = run_once(machine, *big(machine, on_second));
  CHECK(contains(failed->error(), "device 'cuda:1': out of GPU memory"));
  CHECK(run_once(machine, *chain(machine, {on_first, on_second}))->outcome() == Outcome::ok);
  fake.check_clean();
}

TEST(a_lost_gpu_leaves_the_other_one_serving) {
  const FakeCuda fake;
  fake.gpus(2);
  {
    const MachineOwner machine = two_gpus(lanes);
    const PlanPtr first = chain(machine, {on_first}), second = chain(machine, {on_second}),
                  both = chain(machine, {on_first, on_second});
    CHECK(numbers_of(run_once(machine, *both)->outputs()[0]) == 3);
    fake.lose(0, 700);
    CHECK(run_once(machine, *first)->outcome() == Outcome::failed);
    CHECK(contains(machine->device(on_first).failure(), "CUDA error 700"));
    CHECK(machine->device(on_second).failure().empty());
    CHECK(machine->is_lost() && machine->has_lost(0b010) && !machine->has_lost(0b101));
    for (int i = 0; i < 20; ++i) {
      CHECK(numbers_of(run_once(machine, *second)->outputs()[0]) == 2);
      CHECK(contains(run_once(machine, *both)->error(), "device 'cuda:0' is lost"));
      CHECK(contains(run_once(machine, *first)->error(), "device 'cuda:0' is lost"));
    }
    CHECK(machine->device(on_second).failure().empty());
  }
  CHECK(fake.violations() == 0);
}

TEST(a_copy_between_gpus_that_fails_fails_its_run_alone) {
  const FakeCuda fake;
  fake.gpus(2);
  const MachineOwner machine = two_gpus(lanes);
  const PlanPtr both = chain(machine, {on_first, on_second});
  fake.inject("cudaMemcpyPeerAsync", 1, 217);
  CHECK(contains(run_once(machine, *both)->error(), "device 'cuda:1': cudaMemcpyPeerAsync failed"));
  CHECK(!machine->is_lost());
  CHECK(numbers_of(run_once(machine, *both)->outputs()[0]) == 3);
  fake.check_clean();
}

TEST(a_copy_from_a_gpu_that_is_lost_meanwhile_fails_its_run_alone) {
  const FakeCuda fake;
  fake.gpus(2);
  const MachineOwner machine = two_gpus(lanes);
  const PlanPtr both = chain(machine, {on_first, on_second}), second = chain(machine, {on_second});
  fake.during("cudaMemcpyPeerAsync", [&] { fake.lose(0, 700); });
  const std::string why = "device 'cuda:1': cudaMemcpyPeerAsync failed with CUDA error 700";
  CHECK(contains(run_once(machine, *both)->error(), why));
  fake.during("cudaMemcpyPeerAsync", {});
  CHECK(!machine->has_lost(1U << on_second));
  CHECK(numbers_of(run_once(machine, *second)->outputs()[0]) == 2);
  CHECK(fake.violations() == 0);
}

TEST(what_one_gpu_made_is_freed_by_whoever_holds_it_last) {
  const FakeCuda fake;
  fake.gpus(2);
  Inputs kept;
  {
    const MachineOwner machine = two_gpus(lanes);
    PlanBuilder builder(machine.get());
    const int input = builder.add_value("input");
    builder.set_inputs({input});
    builder.set_outputs({add_copy(builder, on_cpu, on_second, input)});
    kept = machine->run(*builder.build(), Inputs{host_numbers(3, count)}, {}, 0)->outputs();
  }
  CHECK(fake.alive() == 1);
  const std::size_t before = fake.violations();  // its streams go before it
  kept.clear();                                  // on a thread that uses GPU 0
  CHECK(fake.violations() == before);
  CHECK(fake.alive() == 0);
}

TEST(two_gpus_may_be_whole_and_in_partitions_but_none_both) {
  const FakeCuda fake;
  fake.gpus(2);
  CHECK(!failure_of([] {
           const MachineOwner machine(machine_of({cpu(1), gpu_number(0, 1), gpu_number(0, 1)}));
         }).empty());
  CHECK(failure_of([] {
          const MachineOwner machine(
              machine_of({cpu(1), gpu_number(1, 8), partition(64, 5), partition(32, 5)}));
        }).empty());
}

}  // namespace cuda_several_tests
