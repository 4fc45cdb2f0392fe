// Launches that keep their thread, and by which thread each is made.
#include <atomic>
#include <functional>
#include <thread>

#include "cuda_plans.hpp"
#include "scheduler/clock.hpp"

namespace cuda_lane_threads_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr int on_cpu = 0, on_gpu = 1;
constexpr std::int64_t limit_ns = 60'000'000'000;  ///< for what is sure to come

/// A sum that does something first in its launch.
class SumAfter final : public cuda::CudaKernel {
 public:
  explicit SumAfter(std::function<void(cuda::Launch&)> action) : action_(std::move(action)) {}
  void enqueue(cuda::Launch& launch, std::span<const ValuePtr> inputs,
               std::span<ValuePtr> outputs) const override {
    action_(launch);
    sum_.enqueue(launch, inputs, outputs);
  }

 private:
  const std::function<void(cuda::Launch&)> action_;
  const GpuSum sum_{10};
};

/// The same on the host, behind it.
class HostSumAnd final : public Kernel {
 public:
  explicit HostSumAnd(std::function<void()> action) : action_(std::move(action)) {}
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    sum_.execute(inputs, outputs, token);
    action_();
  }

 private:
  const std::function<void()> action_;
  const HostSum sum_{10};
};

void wait_for(const std::function<bool()>& condition) {
  for (const std::int64_t end_ns = now_ns() + limit_ns; !condition(); std::this_thread::yield())
    if (now_ns() > end_ns) throw std::runtime_error("it never came");
}

/// Two branches of the input: a kernel on the GPU each, copied back; behind the second one of the
/// host.
PlanPtr two_branches(const MachineOwner& machine, std::shared_ptr<const Kernel> first,
                     std::shared_ptr<const Kernel> second, std::shared_ptr<const Kernel> host) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input"), moved = builder.add_value("moved");
  builder.set_inputs({input});
  builder.add_copy("in", on_cpu, on_gpu, input, moved);
  std::vector<int> outputs;
  for (auto& kernel : {std::move(first), std::move(second)}) {
    const int made = builder.add_value("made");
    outputs.push_back(builder.add_value("output"));
    builder.add_node(
        {.name = "n", .device = on_gpu, .kernel = kernel, .inputs = {moved}, .outputs = {made}});
    builder.add_copy("out", on_gpu, on_cpu, made, outputs.back());
  }
  const int last = builder.add_value("last");
  builder.add_node({.name = "h",
                    .device = on_cpu,
                    .kernel = std::move(host),
                    .inputs = {outputs.back()},
                    .outputs = {last}});
  builder.set_outputs({outputs.front(), last});
  return builder.build();
}

PlanPtr one_node(const MachineOwner& machine, std::shared_ptr<const Kernel> kernel, bool captured) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input"), moved = builder.add_value("moved"),
            made = builder.add_value("made"), output = builder.add_value("output");
  builder.set_inputs({input});
  builder.add_copy("in", on_cpu, on_gpu, input, moved);
  builder.add_node({.name = "n",
                    .device = on_gpu,
                    .kernel = std::move(kernel),
                    .inputs = {moved},
                    .outputs = {made},
                    .captured_ns = captured ? 0 : -1});
  builder.add_copy("out", on_gpu, on_cpu, made, output);
  builder.set_outputs({output});
  return builder.build();
}

RunPtr run_once(const MachineOwner& machine, const Plan& plan) {
  return machine->run(plan, Inputs{host_numbers(1, 10)}, {}, 0);
}

}  // namespace

TEST(a_launch_that_waits_holds_back_no_other_lane) {
  if (lanes == 1) return;
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  {
    MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
    std::atomic<bool> is_over{false};
    // Until the other lane's node is submitted, has passed, was copied out and used by the host.
    const auto waiting = std::make_shared<SumAfter>(
        [&](cuda::Launch&) { wait_for([&] { return is_over.load(); }); });
    const auto host = std::make_shared<HostSumAnd>([&] { is_over = true; });
    const PlanPtr plan = two_branches(machine, waiting, std::make_shared<GpuSum>(10), host);
    // Not so often that it may seem brief: then the device's thread makes it.
    for (int i = 0; i < 5; ++i) {
      is_over = false;
      const RunPtr run = run_once(machine, *plan);
      if (run->outcome() != Outcome::ok) throw std::runtime_error(run->error());
      CHECK(numbers_of(run->outputs()[0]) == 2 && numbers_of(run->outputs()[1]) == 3);
    }
    fake.check_clean();
  }
  CHECK(fake.alive() == 0);
}

TEST(a_gpu_that_is_lost_while_a_lane_is_launching_hangs_nobody) {
  if (lanes == 1) return;
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  {
    MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
    std::atomic<bool> has_begun{false};
    const auto waiting = std::make_shared<SumAfter>([&](cuda::Launch& launch) {
      has_begun = true;
      wait_for([&] { return launch.api().stream_query.code(launch.stream()) == 700; });
      throw launch.api().library().error(700, "waiting");
    });
    const auto losing = std::make_shared<SumAfter>([&](cuda::Launch&) {
      wait_for([&] { return has_begun.load(); });
      fake.lose(0, 700);
    });
    const PlanPtr plan = two_branches(machine, waiting, losing, std::make_shared<HostSum>(10));
    const RunPtr run = run_once(machine, *plan);
    CHECK(run->outcome() == Outcome::failed);
    CHECK(machine->device(on_gpu).failure().find("CUDA error 700") != std::string::npos);
    CHECK(run_once(machine, *plan)->outcome() == Outcome::failed);
  }
  CHECK(fake.violations() == 0);
}

TEST(random_plans_whose_kernels_wait_for_their_streams_answer_right) {
  std::mt19937 random(static_cast<unsigned>(lanes));
  const FakeCuda fake(random());
  {
    MachineOwner machine(machine_of({cpu(1 + lanes % 2), gpu(lanes)}));
    CHECK(run_plans(machine, random, 40, true, true) == 0);
    fake.check_clean();
  }
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(only_several_lanes_have_threads_and_only_where_wanted) {
  for (const bool wanted : {true, false}) {
    const FakeCuda fake;
    DeviceParams params = gpu(lanes);
    params.of<CudaParams>().lane_threads = wanted;
    MachineOwner machine(machine_of({cpu(1), params}));
    const PlanPtr plan = one_node(machine, std::make_shared<GpuSum>(10), false);
    CHECK(numbers_of(run_once(machine, *plan)->outputs()[0]) == 2);
    CHECK(machine->stats().devices[on_gpu].by_lanes == (wanted && lanes > 1 ? 1U : 0U));
    fake.check_clean();
  }
}

TEST(replays_are_made_by_the_thread_that_captured) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  const PlanPtr plan =
      one_node(machine, std::make_shared<GpuSum>(10, std::vector<std::size_t>{10}), true);
  CHECK(plan->uncaptured().empty());
  for (int i = 0; i < 20; ++i) CHECK(numbers_of(run_once(machine, *plan)->outputs()[0]) == 2);
  CHECK(machine->stats().devices[on_gpu].replayed == 20);
  CHECK(machine->stats().devices[on_gpu].by_lanes == 0);
  fake.check_clean();
}

TEST(only_what_is_brief_again_and_again_stays_with_the_devices_thread) {
  const cuda::KernelSlot slot(std::make_shared<GpuSum>(1));
  const auto times = [&](int count, std::int64_t took_ns) {
    for (int i = 0; i < count; ++i) slot.note_launch(1, took_ns);
  };
  CHECK(!slot.is_brief(1));
  times(7, 1'000);
  CHECK(!slot.is_brief(1));
  times(1, 1'000);
  CHECK(slot.is_brief(1) && !slot.is_brief(0));
  times(1, 1'000'000);
  CHECK(!slot.is_brief(1));
  times(300, 1'000);
  CHECK(slot.is_brief(1));
}

}  // namespace cuda_lane_threads_tests
