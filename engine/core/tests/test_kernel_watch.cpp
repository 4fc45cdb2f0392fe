#include "scheduler/kernel_watch.hpp"

#include <thread>

#include "fixtures.hpp"
#include "test.hpp"

namespace kernel_watch_tests {

using namespace engine;
using namespace engine::test;

namespace {

class Token final : public CancelToken {
 public:
  void cancel() noexcept override { cancelled_.store(true, std::memory_order_relaxed); }
  void reset() noexcept override { cancelled_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool is_cancelled() const noexcept override {
    return cancelled_.load(std::memory_order_relaxed);  // relaxed, all: nothing else is told
  }

 private:
  std::atomic<bool> cancelled_{false};
};

/// Never ends by itself, as a Loop of 2^60 trips.
class EndlessKernel final : public Kernel {
 public:
  void execute(std::span<const ValuePtr>, std::span<ValuePtr>, CancelToken* token) const override {
    while (!token->is_cancelled()) std::this_thread::yield();
    throw std::runtime_error("terminated");
  }
};

PlanPtr plan_of(const MachineOwner& machine, std::shared_ptr<const Kernel> kernel) {
  PlanBuilder builder(machine.get());
  builder.set_token_maker(
      []() -> std::unique_ptr<CancelToken> { return std::make_unique<Token>(); });
  builder.add_node({.name = "only", .kernel = std::move(kernel)});
  return builder.build();
}

/// Heeds no token until it is let go.
class DeafKernel final : public Kernel {
 public:
  void execute(std::span<const ValuePtr>, std::span<ValuePtr>, CancelToken*) const override {
    // relaxed, all: nothing else is told
    running_.fetch_add(1, std::memory_order_relaxed);
    while (!released_.load(std::memory_order_relaxed)) std::this_thread::yield();
  }
  void await(int running) const {
    while (running_.load(std::memory_order_relaxed) < running) std::this_thread::yield();
  }
  void release() { released_.store(true, std::memory_order_relaxed); }

 private:
  mutable std::atomic<int> running_{0};
  std::atomic<bool> released_{false};
};

/// Counts how often it was looked at.
class Counted final : public Watched {
 public:
  bool look(std::int64_t) noexcept override {
    ++looks;
    return false;
  }
  std::atomic<int> looks{0};
};

/// Until this thread's own seat was looked at, which the watch's thread may be doing just now.
void await_look(std::int64_t now_ns) {
  while (!KernelWatch::get().look(now_ns)) std::this_thread::yield();
}

/// At ever later times: what is late from one of them on is held at the next.
template <typename Condition>
void look_until(Condition&& condition) {
  for (std::int64_t at_ns = now_ns(); !condition(); at_ns += KernelWatch::held_after_ns)
    await_look(at_ns);
}

}  // namespace

TEST(a_deadline_ends_a_kernel_that_runs) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = plan_of(machine, std::make_shared<EndlessKernel>());
  // By the caller's own thread, and by lanes.
  const RunOptions options{.deadline_ns = now_ns() + 1'000'000};
  CHECK(machine->run(*plan, {}, options, 0)->outcome() == Outcome::deadline);
  std::vector<RunPtr> runs;
  for (int i = 0; i < 2 * lanes; ++i) runs.push_back(machine->submit(*plan, {}, options));
  for (const RunPtr& run : runs) {
    run->wait(0, false);
    CHECK(run->outcome() == Outcome::deadline);
  }
  CHECK(is_empty(machine));
}

TEST(a_plan_limits_the_time_of_its_kernels) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr endless = plan_of(machine, std::make_shared<EndlessKernel>());
  const PlanPtr quick = plan_of(machine, call([] {}));
  for (const PlanPtr& plan : {endless, quick}) plan->limit_time(1'000'000);
  for (int i = 0; i < 3; ++i) {
    const RunPtr ended = machine->run(*endless, {}, {}, 0);
    CHECK(ended->outcome() == Outcome::deadline);
    CHECK(ended->error() == "it has computed for longer than its limit of 1 ms");
    const RunPtr run = machine->run(*quick, {}, {}, 0);
    CHECK(run->outcome() == Outcome::ok);
    CHECK(run->error().empty());
  }
}

TEST(a_limit_also_holds_for_what_runs_already) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = plan_of(machine, std::make_shared<EndlessKernel>());
  const RunPtr run = machine->submit(*plan, {}, {});
  plan->limit_time(1'000'000);
  run->wait(0, false);
  CHECK(run->outcome() == Outcome::deadline);
}

TEST(the_watch_looks_at_the_innermost_stay_while_it_lasts) {
  Counted outer, inner;
  {
    const KernelWatch::Stay first(outer);
    await_look(1);
    CHECK(outer.looks >= 1);
    {
      const KernelWatch::Stay second(inner);
      const int before = outer.looks;
      await_look(2);
      CHECK(inner.looks >= 1);
      CHECK(outer.looks == before);
    }
    await_look(3);
  }
  const int looks = outer.looks;
  KernelWatch::get().look(4);
  CHECK(outer.looks == looks);
}

TEST(the_watch_sleeps_where_no_kernel_runs_and_wakes_for_one_that_does) {
  const auto await_sleep = [] {
    while (!KernelWatch::is_asleep()) std::this_thread::yield();
  };
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = plan_of(machine, std::make_shared<EndlessKernel>());
  await_sleep();
  // Ended by nobody else.
  CHECK(machine->run(*plan, {}, {.deadline_ns = now_ns() + 1}, 0)->outcome() == Outcome::deadline);
  await_sleep();
  Counted inside;
  const KernelWatch::Stay stay(inside);
  CHECK(!KernelWatch::is_asleep());
  while (inside.looks < 3) std::this_thread::yield();
  CHECK(!KernelWatch::is_asleep());
}

TEST(an_operator_that_outlives_its_query_holds_its_lane) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const auto kernel = std::make_shared<DeafKernel>();
  const PlanPtr plan = plan_of(machine, kernel);
  const auto held = [&] { return machine->stats().devices[0].held; };
  std::vector<RunPtr> runs;
  for (int i = 0; i < lanes; ++i) runs.push_back(machine->submit(*plan, {}, {}));
  kernel->await(lanes);
  const std::int64_t begin_ns = now_ns();
  await_look(begin_ns + 10 * KernelWatch::held_after_ns);
  CHECK(held() == 0);  // long, but still asked for
  for (int i = 0; i < lanes; ++i) {
    CHECK(!machine->is_stalled());
    runs[static_cast<std::size_t>(i)]->cancel();
    // Since the first look after the cancel, which may be the watch's own.
    await_look(begin_ns);
    await_look(begin_ns + 1);
    CHECK(held() == i);
    look_until([&] { return held() != i; });
    CHECK(held() == i + 1);
    CHECK(plan->machine().held_lanes().nodes(*plan).size() == static_cast<std::size_t>(i + 1));
  }
  CHECK(machine->is_stalled());
  CHECK(plan->machine().held_lanes().nodes(*plan)[0] == "only");
  CHECK(plan->machine().held_lanes().nodes(*plan_of(machine, kernel)).empty());
  kernel->release();
  machine->drain();
  CHECK(held() == 0);
  CHECK(!machine->is_stalled());
  runs.clear();
  CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
}

TEST(a_wide_operator_holds_all_of_its_lanes) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const auto kernel = std::make_shared<DeafKernel>();
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "wide", .kernel = kernel, .width = lanes});
  const PlanPtr plan = builder.build();
  const RunPtr run = machine->submit(*plan, {}, {});
  kernel->await(1);
  run->cancel();
  look_until([&] { return machine->is_stalled(); });
  CHECK(machine->stats().devices[0].held == lanes);
  kernel->release();
  run->wait(0, false);
}

TEST(stays_nest_while_others_look) {
  std::atomic<bool> is_over{false};
  std::thread looking([&] {
    // relaxed: nothing else is told
    while (!is_over.load(std::memory_order_relaxed)) KernelWatch::get().look(1);
  });
  Counted outer, inner;
  for (int i = 0; i < 20'000; ++i) {
    const KernelWatch::Stay first(outer);
    const KernelWatch::Stay second(inner);
  }
  is_over.store(true, std::memory_order_relaxed);
  looking.join();
  const int looks = outer.looks;
  KernelWatch::get().look(2);
  CHECK(outer.looks == looks);
}

}  // namespace kernel_watch_tests
