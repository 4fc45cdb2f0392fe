// Captures beside other threads of the process: other machines of ours, and the user's.
#include <atomic>
#include <thread>

#include "ort_fixtures.hpp"

namespace cuda_captures_tests {

using namespace engine;
using namespace engine::test;

namespace {

/// The fake has streams for two such devices.
int lanes_of_two(int lanes) { return std::min(lanes, 7); }

PlanPtr plus_one(const MachineOwner& machine, bool captured) {
  return plan_of(machine,
                 source({.model = model("in x 10;out y 10"), .is_bytes = true}, {"x"}, {"y"}), 1, 1,
                 captured);
}

void check_answer(const MachineOwner& machine, const Plan& plan) {
  const RunPtr run = machine->run(plan, Inputs{tensor(4, 10)}, {}, 0);
  if (run->outcome() != Outcome::ok) throw std::runtime_error(run->error());
  CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{5}, std::size_t{10}));
}

void check_clean(const FakeCuda& fake, const FakeOrt& ort) {
  fake.check_clean();
  ort.check_clean();
}

}  // namespace

TEST(queries_of_a_machine_go_on_while_another_captures_in_global_mode) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  const FakeOrt ort;
  MachineOwner serving(machine_of({cpu(1), gpu_of_sessions(lanes_of_two(lanes))})),
      loading(machine_of({cpu(1), gpu_of_sessions(lanes_of_two(lanes))}));
  const PlanPtr served = plus_one(serving, false);
  int answers = 0;
  fake.during("cudaStreamEndCapture", [&] {
    const RunPtr run = serving->run(*served, Inputs{tensor(4, 10)}, {}, 0);
    answers += run->outcome() == Outcome::ok ? 1 : 0;
  });
  const PlanPtr captured = plus_one(loading, true);
  fake.during("cudaStreamEndCapture", {});
  CHECK(answers == lanes_of_two(lanes));
  CHECK(captured->uncaptured().empty() && serving->device(1).failure().empty());
  check_answer(loading, *captured);
  check_clean(fake, ort);
}

TEST(a_machine_runs_and_opens_sessions_while_another_captures_in_a_loop) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  const FakeOrt ort;
  {
    MachineOwner serving(machine_of({cpu(1), gpu_of_sessions(lanes_of_two(lanes))})),
        loading(machine_of({cpu(1), gpu_of_sessions(lanes_of_two(lanes))}));
    std::atomic<bool> is_done{false};
    std::string failure;
    std::jthread capturing([&] {
      try {
        for (int i = 0; i < 20; ++i) {
          const PlanPtr plan = plus_one(loading, true);
          CHECK(plan->uncaptured().empty());
          check_answer(loading, *plan);
        }
      } catch (const std::exception& error) {
        failure = error.what();
      }
      is_done.store(true, std::memory_order_relaxed);  // relaxed: a flag, joined below
    });
    while (!is_done.load(std::memory_order_relaxed)) {
      const PlanPtr plan = plus_one(serving, false);
      for (int i = 0; i < 5; ++i) check_answer(serving, *plan);
    }
    capturing.join();
    CHECK(failure.empty() && serving->device(1).failure().empty());
    CHECK(loading->device(1).failure().empty());
    check_clean(fake, ort);
  }
  check_clean(fake, ort);
  CHECK(fake.alive() == 0 && ort.count("sessions") == 0);
}

TEST(a_thread_that_does_not_say_that_it_ignores_captures_ends_them_by_polling) {
  for (const bool says_so : {true, false}) {
    const FakeCuda fake;
    const auto cuda = std::make_shared<const cuda::Api>(FAKE_CUDA_LIBRARY);
    cuda::StreamHandle stream = nullptr;
    cuda->stream_create(&stream, cuda::stream_non_blocking, 0);
    cuda->stream_begin_capture(stream, cuda::capture_global);
    std::thread([&] {
      if (!says_so) fake.ignore("cudaThreadExchangeStreamCaptureMode");
      cuda::ignore_captures_of_others(*cuda);
      cuda::Streams streams(cuda, 1);
      static_cast<void>(streams.record(0));
      if (says_so)
        streams.settle();
      else
        CHECK(!streams.poll());  // refused, and no reason to give the device up
    }).join();
    cuda::GraphHandle graph = nullptr;
    CHECK(cuda->stream_end_capture.code(stream, &graph) == (says_so ? 0 : 901));
    CHECK((fake.violations() > 0) == !says_so);
  }
}

TEST(the_last_holder_of_a_value_may_free_it_while_a_user_captures) {
  const FakeCuda fake;
  const auto cuda = std::make_shared<const cuda::Api>(FAKE_CUDA_LIBRARY);
  cuda::StreamHandle stream = nullptr;
  auto streams = std::make_unique<cuda::Streams>(cuda, 1);
  auto pool = std::make_shared<cuda::DevicePool>(cuda, *streams, cuda::DevicePool::Params{});
  auto pinned = std::make_shared<cuda::PinnedPool>(cuda, 4096);
  cuda::Memory value = pool->allocate(0, 256), answer = pinned->allocate(256, true);
  pool->close();
  pinned->close();
  cuda->stream_create(&stream, cuda::stream_non_blocking, 0);
  cuda->stream_begin_capture(stream, cuda::capture_global);
  value.reset();
  answer.reset();
  cuda::GraphHandle graph = nullptr;
  cuda->stream_end_capture(stream, &graph);
  fake.check_clean();
  cuda->graph_destroy(graph);
  cuda->stream_destroy(stream);
  streams.reset();
  CHECK(fake.alive() == 0);
}

TEST(a_poll_that_a_capture_refuses_is_made_again) {
  for (int code = 900; code <= 908; ++code) {
    const FakeCuda fake;
    const FakeOrt ort;
    MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
    const PlanPtr plan = plus_one(machine, false);
    fake.inject("cudaEventQuery", 1, code);
    check_answer(machine, *plan);
    CHECK(machine->device(1).failure().empty());
    check_clean(fake, ort);
  }
}

}  // namespace cuda_captures_tests
