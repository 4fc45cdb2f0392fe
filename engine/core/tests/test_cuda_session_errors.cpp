// What goes wrong with sessions on a GPU, and what stays right.
#include "ort_fixtures.hpp"

namespace cuda_session_errors_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::size_t size = 10;

PlanPtr sum(const MachineOwner& machine, const std::string& text = "in x 10;out y 10",
            std::map<std::string, std::string> config = {}) {
  return plan_of(
      machine,
      source({.model = model(text), .is_bytes = true, .config = std::move(config)}, {"x"}, {"y"}),
      1, 1);
}

RunPtr run_once(const MachineOwner& machine, const Plan& plan, std::size_t count = size) {
  return machine->run(plan, Inputs{tensor(1, count)}, {}, 0);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What building the plan throws.
template <typename Make>
std::string refusal(Make&& make) {
  try {
    static_cast<void>(make());
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST(an_onnxruntime_without_cuda_is_refused_naming_the_provider) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  ort.has_cuda(false);
  const std::string why = refusal([&] { return sum(machine); });
  CHECK(contains(why, "not enabled in this build"));
  CHECK(contains(why, "libonnxruntime_providers_cuda.so"));
  ort.has_cuda(true);
  CHECK(run_once(machine, *sum(machine))->outcome() == Outcome::ok);
  fake.check_clean();
}

TEST(a_session_that_the_gpu_cannot_take_is_refused_with_the_runtimes_reason) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  const std::map<std::string, std::string> on_gpu_only{{"session.disable_cpu_ep_fallback", "1"}};
  CHECK(contains(refusal([&] { return sum(machine, "in x 10;host;out y 10", on_gpu_only); }),
                 "fallback to CPU EP has been explicitly disabled"));
  CHECK(refusal([&] { return sum(machine, "in x 10;host;out y 10"); }).empty());
  CHECK(contains(refusal([&] {
                   return plan_of(machine, source({.model = "/nowhere.onnx"}, {"x"}, {"y"}), 1, 1);
                 }),
                 "/nowhere.onnx"));
  CHECK(contains(refusal([&] { return sum(machine, "in a 10;out y 10"); }), "no input 'x'"));
  CHECK(ort.count("sessions") == 0);
  fake.check_clean();
}

TEST(inputs_that_do_not_fit_fail_their_run_alone) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  const PlanPtr plan = sum(machine);
  CHECK(contains(run_once(machine, *plan, 3)->error(), "invalid dimensions"));
  CHECK(run_once(machine, *plan)->outcome() == Outcome::ok);
  fake.check_clean();
  ort.check_clean();
}

TEST(out_of_memory_within_a_session_fails_its_run_alone) {
  const FakeCuda fake;
  const FakeOrt ort;
  DeviceParams small = gpu_of_sessions(lanes);
  small.of<CudaParams>().reserve_bytes = 0;
  small.memory_bytes = 64U << 10;
  MachineOwner machine(machine_of({cpu(1), small}));
  const PlanPtr plan = sum(machine, "in x ?;out y ?");
  CHECK(contains(run_once(machine, *plan, 7000)->error(), "out of GPU memory"));
  CHECK(run_once(machine, *plan)->outcome() == Outcome::ok);
  CHECK(machine->device(1).failure().empty());
  fake.check_clean();
  ort.check_clean();
}

TEST(a_fatal_error_within_a_session_loses_the_device_and_destroys_no_session) {
  for (const bool resets : {true, false}) {
    const FakeCuda fake;
    const FakeOrt ort;
    DeviceParams params = gpu_of_sessions(lanes);
    params.of<CudaParams>().resets_when_lost = resets;
    {
      MachineOwner machine(machine_of({cpu(1), params}));
      const PlanPtr plan = sum(machine);
      CHECK(run_once(machine, *plan)->outcome() == Outcome::ok);
      fake.inject("launch", 1, 700);
      const RunPtr failed = run_once(machine, *plan);
      CHECK(contains(failed->error(), "is lost") && contains(failed->error(), "CUDA error 700"));
      CHECK(machine->is_lost());
      CHECK(contains(refusal([&] { return sum(machine); }), "is lost"));
    }
    CHECK(ort.count("sessions") == static_cast<std::size_t>(lanes));
    ort.check_clean();  // a session that ends on a lost device would be a violation
    const std::string why = refusal([&] {
      MachineOwner machine(machine_of({cpu(1), params}));
      const RunPtr run = run_once(machine, *sum(machine));
      if (run->outcome() != Outcome::ok) throw std::runtime_error(run->error());
      return 0;
    });
    if (resets && !why.empty()) throw std::runtime_error(why);
    CHECK(why.empty() == resets);
    if (!resets) CHECK(contains(why, "process must be restarted"));
  }
}

TEST(a_fatal_error_while_a_session_opens_loses_the_device_and_destroys_no_session) {
  const std::string with_own_weight = "in x 10;weight w 10 3;out y 10";  // opening it calls CUDA
  for (const bool resets : {true, false}) {
    for (int nth = 1; nth <= lanes; ++nth) {
      const FakeCuda fake;
      const FakeOrt ort;
      DeviceParams params = gpu_of_sessions(lanes);
      params.of<CudaParams>().resets_when_lost = resets;
      {
        MachineOwner machine(machine_of({cpu(1), params}));
        const PlanPtr plan = sum(machine);
        fake.inject("launch", nth, 700);
        const std::string why = refusal([&] { return sum(machine, with_own_weight); });
        CHECK(contains(why, "'cuda:0' is lost") && contains(why, "CUDA error 700"));
        CHECK(machine->is_lost());
        CHECK(contains(run_once(machine, *plan)->error(), "is lost"));
      }
      CHECK(ort.count("sessions") == static_cast<std::size_t>(lanes + nth - 1));
      ort.check_clean();  // a session that ends on a lost device would be a violation
      const std::string again = refusal([&] {
        MachineOwner machine(machine_of({cpu(1), params}));
        return sum(machine, with_own_weight);
      });
      CHECK(again.empty() == resets);
    }
  }
}

TEST(what_one_lanes_session_frees_while_opening_goes_to_the_next_ones_behind_an_event) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  const FakeOrt ort;
  {
    DeviceParams tight = gpu_of_sessions(lanes);
    tight.of<CudaParams>().reserve_bytes = 0;
    // Of each lane a workspace of 256 bytes, beside it what one session at a time tries things in.
    tight.memory_bytes = 4096 + 256 * static_cast<std::size_t>(lanes);
    MachineOwner machine(machine_of({cpu(1), tight}));
    CHECK(refusal([&] { return sum(machine, "in x 10;tries;out y 10"); }).empty());
    CHECK(ort.count("opened") == static_cast<std::size_t>(lanes));
  }
  fake.check_clean();
  ort.check_clean();
}

}  // namespace cuda_session_errors_tests
