#include <poll.h>

#include <random>
#include <thread>

#include "fixtures.hpp"
#include "scheduler/completion_queue.hpp"
#include "scheduler/status_error.hpp"
#include "test.hpp"

namespace runs_tests {

using namespace engine;
using namespace engine::test;

namespace {

/// in -> 8 branches of two -> out, all with values; node 5 calls `hook`.
PlanPtr branches(const MachineOwner& machine, std::function<void()> hook = [] {}) {
  PlanBuilder builder(machine.get());
  const auto sum = std::make_shared<SumKernel>();
  const int in = builder.add_value("in"), out = builder.add_value("out");
  builder.set_inputs({in});
  std::vector<int> ends;
  for (int i = 0; i < 8; ++i) {
    const int middle = builder.add_value("middle");
    ends.push_back(builder.add_value("end"));
    builder.add_node({.name = "head", .kernel = sum, .inputs = {in}, .outputs = {middle}});
    builder.add_node({.name = "tail", .kernel = sum, .inputs = {middle}, .outputs = {ends.back()}});
  }
  const int hooked = builder.add_node({.name = "hooked", .kernel = call(std::move(hook))});
  builder.add_node(
      {.name = "join", .kernel = sum, .inputs = ends, .outputs = {out}, .after = {hooked}});
  builder.set_outputs({out});
  return builder.build();
}

std::int64_t expected(std::int64_t input) { return 8 * (input + 2) + 1; }

/// Waits for a flag without sleeping.
void await(const std::atomic<bool>& flag) {
  while (!flag.load()) std::this_thread::yield();
}

}  // namespace

TEST(twenty_thousand_runs_leave_nothing) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int first = builder.add_node({.name = "first"});
  const int left = builder.add_node({.name = "left", .after = {first}});
  builder.add_node({.name = "right", .after = {first, left}});
  const PlanPtr plan = builder.build();
  for (int i = 0; i < 20'000; ++i) CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
  CHECK(machine->stats().devices[0].executed == 60'000);
  CHECK(is_empty(machine));
}

TEST(many_submitters_with_many_runs_in_flight) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = branches(machine);
  std::atomic<int> wrong{0};
  std::vector<std::thread> submitters;
  for (int t = 0; t < 4; ++t)
    submitters.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        std::vector<RunPtr> runs;
        for (int i = 0; i < 10; ++i)
          runs.push_back(machine->submit(*plan, Inputs{number(100 * t + i)}, {}));
        for (int i = 0; i < 10; ++i) {
          runs[static_cast<std::size_t>(i)]->wait(0, t % 2 == 0);
          const auto outputs = runs[static_cast<std::size_t>(i)]->outputs();
          if (number_of(outputs[0]) != expected(100 * t + i)) ++wrong;
        }
      }
    });
  for (auto& submitter : submitters) submitter.join();
  CHECK(wrong == 0);
  CHECK(is_empty(machine));
}

TEST(synchronous_callers_side_by_side) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = branches(machine);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i)
        if (number_of(machine->run(*plan, Inputs{number(t + i)}, {}, 0)->outputs()[0]) !=
            expected(t + i))
          ++wrong;
    });
  for (auto& caller : callers) caller.join();
  CHECK(wrong == 0);
  CHECK(is_empty(machine));
}

TEST(failing_run_says_what_its_kernels_library_numbers_the_error) {
  MachineOwner machine(machine_of({cpu(2)}));
  bool fails = true;
  const PlanPtr plan = branches(machine, [&] {
    if (fails) throw StatusError(7, "boom");
  });
  for (const int code : {7, 0}) {
    const RunPtr run = machine->submit(*plan, Inputs{number(1)}, {});
    run->wait(0, true);
    CHECK(run->error_code() == code);
    fails = false;
  }
}

TEST(failing_run_ends_alone_and_names_its_node) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr bad = branches(machine, [] { throw std::runtime_error("boom"); });
  const PlanPtr good = branches(machine);
  for (int i = 0; i < 50; ++i) {
    const RunPtr failed = machine->submit(*bad, Inputs{number(1)}, {});
    const RunPtr fine = machine->submit(*good, Inputs{number(1)}, {});
    failed->wait(0, true);
    fine->wait(0, false);
    CHECK(failed->outcome() == Outcome::failed);
    CHECK(failed->error() == "segment 'hooked': boom");
    CHECK(bad->node_name(static_cast<std::uint32_t>(failed->error_node())) == "hooked");
    CHECK(failed->outputs()[0] == nullptr);
    CHECK(number_of(fine->outputs()[0]) == expected(1));
  }
  CHECK(is_empty(machine));
}

TEST(first_error_wins) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  std::atomic<int> failures{0};
  std::atomic<int> first{-1};
  for (int i = 0; i < 32; ++i)
    builder.add_node({.name = std::to_string(i), .kernel = call([&, i] {
                                                   int none = -1;
                                                   first.compare_exchange_strong(none, i);
                                                   ++failures;
                                                   throw std::runtime_error("failure " +
                                                                            std::to_string(i));
                                                 })});
  const PlanPtr plan = builder.build();
  for (int repeat = 0; repeat < 20; ++repeat) {
    failures = 0;
    const RunPtr run = machine->run(*plan, {}, {}, 0);
    CHECK(run->outcome() == Outcome::failed);
    CHECK(failures >= 1);
    CHECK(failures <= lanes);
    const int node = run->error_node();
    CHECK(run->error() ==
          "segment '" + std::to_string(node) + "': failure " + std::to_string(node));
  }
}

TEST(cancelled_run_skips_what_is_left) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<bool> started{false}, go_on{false};
  std::atomic<int> later{0};
  PlanBuilder builder(machine.get());
  const int gate = builder.add_node({.name = "gate", .kernel = call([&] {
                                                       started = true;
                                                       await(go_on);
                                                     })});
  builder.add_node({.name = "later", .kernel = call([&] { ++later; }), .after = {gate}});
  const PlanPtr plan = builder.build();
  RunOptions options;
  options.traced = true;
  const RunPtr run = machine->submit(*plan, {}, options);
  await(started);
  CHECK(!run->wait(now_ns() + 1'000, true));
  CHECK(run->outcome() == Outcome::pending);
  run->cancel();
  go_on = true;
  CHECK(run->wait(0, false));
  CHECK(run->outcome() == Outcome::cancelled);
  CHECK(later == 0);
  CHECK(run->spans()[0].lane >= 0);
  CHECK(run->spans()[1].lane == -1);
}

TEST(cancels_at_random_moments_leave_nothing) {
  MachineOwner machine(machine_of({cpu(lanes), emulated(2)}));
  const PlanPtr plan = branches(machine);
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const RunPtr run = machine->submit(*plan, Inputs{number(i)}, {});
    const std::int64_t until_ns = now_ns() + random() % 40'000;
    while (now_ns() < until_ns) cpu_relax();
    run->cancel();
    run->wait(0, i % 2 == 0);
    CHECK(run->outcome() == Outcome::ok || run->outcome() == Outcome::cancelled);
    if (run->outcome() == Outcome::ok) CHECK(number_of(run->outputs()[0]) == expected(i));
  }
  CHECK(is_empty(machine));
}

TEST(passed_deadline_ends_the_run) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = branches(machine);
  RunOptions late, early;
  late.deadline_ns = now_ns() - 1;
  early.deadline_ns = now_ns() + 3'600'000'000'000;
  CHECK(machine->run(*plan, Inputs{number(1)}, late, 0)->outcome() == Outcome::deadline);
  CHECK(machine->run(*plan, Inputs{number(1)}, early, 0)->outcome() == Outcome::ok);
  CHECK(is_empty(machine));
}

TEST(close_ends_runs_in_flight_and_releases_waiters) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::vector<RunPtr> runs;
    std::vector<std::thread> waiters;
    PlanPtr plan;
    {
      MachineOwner machine(machine_of({cpu(lanes), emulated(1)}));
      PlanBuilder builder(machine.get());
      int last = builder.add_node({.name = "slow", .device = 1, .service_ns = 10'000'000'000});
      for (int i = 0; i < 20; ++i) last = builder.add_node({.name = "n", .after = {last}});
      plan = builder.build();
      for (int i = 0; i < 10; ++i) runs.push_back(machine->submit(*plan, {}, {}));
      for (int i = 0; i < 4; ++i)
        waiters.emplace_back(
            [run = runs[static_cast<std::size_t>(i)], i] { run->wait(0, i % 2 == 0); });
      machine->close();
      bool refused = false;
      try {
        static_cast<void>(machine->submit(*plan, {}, {}));
      } catch (const std::runtime_error&) {
        refused = true;
      }
      CHECK(refused);
    }
    for (auto& waiter : waiters) waiter.join();
    for (const RunPtr& run : runs) CHECK(run->outcome() == Outcome::cancelled);
  }
}

TEST(drain_lets_runs_in_flight_end) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    MachineOwner machine(machine_of({cpu(lanes)}));
    std::atomic<bool> goes_on{false};
    const PlanPtr plan = branches(machine, [&goes_on] { await(goes_on); });
    std::vector<RunPtr> runs;
    for (std::int64_t i = 0; i < 10; ++i)
      runs.push_back(machine->submit(*plan, Inputs{number(i)}, {}));
    std::thread drainer([&machine] {
      machine->drain();
      machine->close();
    });
    goes_on = true;
    drainer.join();
    for (std::int64_t i = 0; i < 10; ++i)
      CHECK(number_of(runs[static_cast<std::size_t>(i)]->outputs()[0]) == expected(i));
  }
}

TEST(close_races_with_submitters) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    MachineOwner machine(machine_of({cpu(lanes)}));
    const PlanPtr plan = branches(machine);
    std::atomic<int> begun{0};
    std::vector<std::thread> submitters;
    for (int t = 0; t < 3; ++t)
      submitters.emplace_back([&] {
        try {
          for (;;) {
            const RunPtr run = machine->run(*plan, Inputs{number(1)}, {}, 0);
            ++begun;
          }
        } catch (const std::runtime_error&) {
        }
      });
    while (begun < 5) std::this_thread::yield();
    machine->close();
    for (auto& submitter : submitters) submitter.join();
    CHECK(is_empty(machine));
  }
}

TEST(completions_arrive_once_and_wake_the_loop) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = branches(machine);
  const auto completions = std::make_shared<CompletionQueue>();
  std::vector<int> seen(300);
  for (std::int64_t i = 0; i < 300; ++i) {
    RunOptions options;
    options.completions = completions;
    options.tag = i;
    static_cast<void>(machine->submit(*plan, Inputs{number(i)}, options));
  }
  for (int left = 300; left > 0;) {
    pollfd event{completions->fd(), POLLIN, 0};
    CHECK(poll(&event, 1, 60'000) == 1);
    for (const RunPtr& run : completions->drain()) {
      ++seen[static_cast<std::size_t>(run->tag())];
      CHECK(number_of(run->outputs()[0]) == expected(run->tag()));
      --left;
    }
  }
  for (const int count : seen) CHECK(count == 1);
}

TEST(undrained_completions_are_released) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = branches(machine);
  {
    const auto completions = std::make_shared<CompletionQueue>();
    RunOptions options;
    options.completions = completions;
    machine->submit(*plan, Inputs{number(1)}, options)->wait(0, false);
    while (machine->stats().runs_in_flight != 0) std::this_thread::yield();
  }
  CHECK(is_empty(machine));
}

TEST(runs_of_a_burst_are_freed_and_a_few_kept) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<bool> may_end{false};
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "n", .kernel = call([&] {
                                   while (!may_end) std::this_thread::yield();
                                 })});
  const PlanPtr plan = builder.build();
  {
    std::vector<RunPtr> runs;
    for (int i = 0; i < 1'000; ++i) runs.push_back(machine->submit(*plan, {}, {}));
    may_end = true;
    for (const RunPtr& run : runs) run->wait(0, false);
    CHECK(plan->run_count() >= 1'000);
  }
  machine->drain();
  CHECK(plan->run_count() <= 256);
  CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
}

TEST(fewer_runs_of_a_large_plan_are_kept) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  for (int i = 0; i < 200'000; ++i) builder.add_node({.name = "n"});
  const PlanPtr plan = builder.build();
  {
    std::vector<RunPtr> runs;
    for (int i = 0; i < 40; ++i) runs.push_back(machine->submit(*plan, {}, {}));
    for (const RunPtr& run : runs) run->wait(0, false);
  }
  machine->drain();
  CHECK(plan->run_count() <= 8);
}

}  // namespace runs_tests
