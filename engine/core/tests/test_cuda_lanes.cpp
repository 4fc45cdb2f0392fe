// On which lanes of a GPU the sessions of plans are opened, and when.
#include <algorithm>
#include <deque>
#include <iterator>
#include <set>

#include "ort_fixtures.hpp"
#include "scheduler/clock.hpp"

namespace cuda_lanes_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::size_t size = 10;
constexpr std::int64_t limit_ns = 60'000'000'000;  ///< for what is sure to come

DeviceParams lazy_gpu(int lanes) {
  DeviceParams params = gpu_of_sessions(lanes);
  params.of<CudaParams>().lanes_at_once = 1;
  return params;
}

/// x + 1 in each of `nodes` sessions, one behind the other or all of the same input.
PlanPtr sums(const MachineOwner& machine, int nodes, bool is_chain, bool captured) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input");
  builder.set_inputs({input});
  int last = builder.add_value("x");
  builder.add_copy("in", 0, 1, input, last);
  std::vector<int> outputs;
  for (int i = 0; i < nodes; ++i) {
    const int next = builder.add_value("x");
    builder.add_node(
        {.name = "n",
         .device = 1,
         .kernel = source({.model = model("in x 10;out y 10"), .is_bytes = true}, {"x"}, {"y"}),
         .inputs = {last},
         .outputs = {next},
         .captured_ns = captured ? 0 : -1});
    if (is_chain) last = next;
    if (is_chain && i + 1 < nodes) continue;
    outputs.push_back(builder.add_value("output"));
    builder.add_copy("out", 1, 0, next, outputs.back());
  }
  builder.set_outputs(outputs);
  return builder.build();
}

void check_answers(const RunPtr& run, std::int64_t expected) {
  CHECK(run->outcome() == Outcome::ok);
  for (const ValuePtr& output : run->outputs())
    CHECK(numbers_in(output) == std::pair(expected, size));
}

/// Keeps ten queries in flight until the condition holds or a minute has passed; whether it held.
template <typename Condition>
bool overlap_until(const MachineOwner& machine, const Plan& plan, std::int64_t added,
                   Condition&& condition) {
  std::deque<std::pair<RunPtr, std::int64_t>> runs;
  const std::int64_t end_ns = now_ns() + limit_ns;
  bool holds = false;
  for (std::int64_t i = 0; !holds && now_ns() < end_ns; ++i) {
    runs.emplace_back(machine->submit(plan, Inputs{tensor(i, size)}, {}), i + added);
    holds = condition();
    if (runs.size() < 10) continue;
    CHECK(runs.front().first->wait(0, false));
    check_answers(runs.front().first, runs.front().second);
    runs.pop_front();
  }
  for (const auto& [run, expected] : runs) {
    CHECK(run->wait(0, false));
    check_answers(run, expected);
  }
  return holds;
}

template <typename Condition>
bool comes(Condition&& condition) {
  for (const std::int64_t end_ns = now_ns() + limit_ns; now_ns() < end_ns;
       std::this_thread::yield())
    if (condition()) return true;
  return false;
}

}  // namespace

TEST(queries_one_at_a_time_leave_each_segment_with_one_session) {
  for (const bool captured : {false, true}) {
    const FakeCuda fake(static_cast<std::uint64_t>(lanes));
    const FakeOrt ort;
    {
      DeviceParams params = lazy_gpu(lanes);
      params.of<CudaParams>().queue_depth = 1;  // a chain waits where it is, however full that is
      MachineOwner machine(machine_of({cpu(1), params}));
      const int wide = std::min(lanes, 5);
      const PlanPtr chain = sums(machine, 5, true, captured),
                    fan = sums(machine, wide, false, captured);
      // Where it is captured, one to launch what has other sizes, and the graph's own.
      const std::size_t all = (5U + static_cast<std::size_t>(wide)) * (captured ? 2 : 1);
      CHECK(ort.count("opened") == all);
      for (int i = 0; i < 100; ++i) {
        check_answers(machine->run(*chain, Inputs{tensor(i, size)}, {}, 0), i + 5);
        check_answers(machine->run(*fan, Inputs{tensor(i, size)}, {}, 0), i + 1);
      }
      CHECK(ort.count("opened") == all && machine->stats().devices[1].opened == 0);
    }
    fake.check_clean();
    ort.check_clean();
    CHECK(fake.alive() == 0 && ort.count("sessions") == 0);
  }
}

TEST(segments_that_may_run_side_by_side_do_from_the_first_query_on) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), lazy_gpu(lanes)}));
  const PlanPtr fan = sums(machine, lanes, false, false);
  const RunPtr run = machine->run(*fan, Inputs{tensor(1, size)}, {.traced = true}, 0);
  std::set<int> used;
  for (std::uint32_t i = 0; i < fan->node_count(); ++i)
    if (fan->node(i).kind == NodeKind::segment) used.insert(run->spans()[i].lane);
  CHECK(used.size() == static_cast<std::size_t>(lanes));
}

TEST(a_lane_that_is_full_holds_back_no_segment_of_another_one) {
  if (lanes == 1) return;
  const FakeCuda fake;
  const FakeOrt ort;
  DeviceParams params = lazy_gpu(2);
  params.of<CudaParams>().queue_depth = 1;
  MachineOwner machine(machine_of({cpu(1), params}));
  const PlanPtr chain = sums(machine, 10, true, false), fan = sums(machine, 2, false, false);
  const auto turn = cuda::capture_turn();  // no further lane is opened
  const auto starts_of = [](const Plan& plan, const Run& run) {
    std::vector<std::int64_t> starts;
    for (std::uint32_t i = 0; i < plan.node_count(); ++i)
      if (plan.node(i).kind == NodeKind::segment) starts.push_back(run.spans()[i].start_ns);
    return starts;
  };
  bool was_asked_in_time = false;
  // Where others use the cores, the urgent ones may be over before the last one is submitted.
  for (int attempt = 0; attempt < 100 && !was_asked_in_time; ++attempt) {
    std::vector<RunPtr> urgent;
    for (std::int64_t i = 0; i < 20; ++i)
      urgent.push_back(
          machine->submit(*chain, Inputs{tensor(i, size)}, {.priority = 1, .traced = true}));
    const RunPtr other = machine->submit(*fan, Inputs{tensor(1, size)}, {.traced = true});
    const std::int64_t asked_ns = now_ns();
    std::vector<std::int64_t> all;
    for (const RunPtr& run : urgent) {
      CHECK(run->wait(0, false));
      std::ranges::copy(starts_of(*chain, *run), std::back_inserter(all));
    }
    CHECK(other->wait(0, false));
    std::ranges::sort(all);
    was_asked_in_time = asked_ns < all[all.size() / 4];
    // Until the last of them have begun, some always wait before it.
    if (was_asked_in_time)
      CHECK(std::ranges::min(starts_of(*fan, *other)) < all[all.size() * 3 / 4]);
  }
  CHECK(was_asked_in_time);
  fake.check_clean();
}

TEST(queries_that_overlap_get_the_other_lanes_while_none_has_to_fail) {
  for (const bool captured : {false, true}) {
    const FakeCuda fake(static_cast<std::uint64_t>(lanes));
    const FakeOrt ort;
    {
      MachineOwner machine(machine_of({cpu(1), lazy_gpu(std::min(lanes, 3))}));
      const auto others = static_cast<std::uint64_t>(std::min(lanes, 3) - 1);
      const PlanPtr plan = sums(machine, 1, true, captured);
      const auto opened = [&] { return machine->stats().devices[1].opened; };
      CHECK(overlap_until(machine, *plan, 1, [&] { return opened() == others; }));
      CHECK(ort.count("opened") == (1 + others) * (captured ? 2 : 1));
      CHECK(overlap_until(machine, *plan, 1, [n = 0]() mutable { return ++n == 100; }));
      fake.check_clean();
      CHECK(machine->stats().devices[1].refused == 0);
    }
    fake.check_clean();
    ort.check_clean();
    CHECK(fake.alive() == 0 && ort.count("sessions") == 0);
  }
}

TEST(no_lane_is_opened_while_another_thread_captures) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), lazy_gpu(std::min(lanes, 2))}));
  const PlanPtr plan = sums(machine, 1, true, false);
  const auto opened = [&] { return machine->stats().devices[1].opened; };
  {
    const auto turn = cuda::capture_turn();
    const std::int64_t end_ns = now_ns() + 150'000'000;  // longer than lanes are waited for
    CHECK(overlap_until(machine, *plan, 1, [&] { return now_ns() > end_ns; }));
    CHECK(opened() == 0);
  }
  // And then between queries: the wish is kept.
  CHECK(lanes == 1 || comes([&] { return opened() == 1; }));
  check_answers(machine->run(*plan, Inputs{tensor(1, size)}, {}, 0), 2);
  fake.check_clean();
}

TEST(a_lane_that_there_is_no_memory_for_is_done_without) {
  const FakeCuda fake;
  const FakeOrt ort;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":65536:1", 1);
  DeviceParams params = lazy_gpu(std::min(lanes, 2));
  params.of<CudaParams>().reserve_bytes = 0;
  params.memory_bytes = 100U << 20;  // of 64 MiB one
  MachineOwner machine(machine_of({cpu(1), params}));
  const PlanPtr plan = sums(machine, 1, true, false);
  const auto refused = [&] { return machine->stats().devices[1].refused; };
  CHECK(overlap_until(machine, *plan, 1, [&] { return lanes == 1 || refused() == 1; }));
  CHECK(overlap_until(machine, *plan, 1, [n = 0]() mutable { return ++n == 100; }));
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  CHECK(ort.count("opened") == 1 && machine->device(1).failure().empty());
  fake.check_clean();
}

TEST(a_gpu_that_is_lost_while_a_lane_is_opened_fails_its_queries_and_hangs_none) {
  if (lanes == 1) return;
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), lazy_gpu(lanes)}));
  const PlanPtr plan = sums(machine, 2, true, true);
  fake.inject("cudaGraphInstantiate", 1, 700);
  std::deque<RunPtr> runs;
  const std::int64_t end_ns = now_ns() + limit_ns;
  for (std::int64_t i = 0; machine->device(1).failure().empty() && now_ns() < end_ns; ++i) {
    runs.push_back(machine->submit(*plan, Inputs{tensor(i, size)}, {}));
    if (runs.size() < 10) continue;
    CHECK(runs.front()->wait(0, false));
    runs.pop_front();
  }
  for (const RunPtr& run : runs) CHECK(run->wait(0, false));
  CHECK(machine->device(1).failure().find("CUDA error 700") != std::string::npos ||
        machine->device(1).failure().find("CUDA failure 700") != std::string::npos);
  CHECK(machine->run(*plan, Inputs{tensor(1, size)}, {}, 0)->outcome() == Outcome::failed);
}

TEST(a_plan_that_goes_takes_along_what_was_wished_for_it) {
  const FakeCuda fake;
  const FakeOrt ort;
  {
    MachineOwner machine(machine_of({cpu(1), lazy_gpu(lanes)}));
    for (int i = 0; i < 20; ++i) {
      const PlanPtr plan = sums(machine, 3, true, false);
      CHECK(overlap_until(machine, *plan, 3, [n = 0]() mutable { return ++n == 20; }));
    }
  }
  fake.check_clean();
  ort.check_clean();
  CHECK(fake.alive() == 0 && ort.count("sessions") == 0);
}

}  // namespace cuda_lanes_tests
