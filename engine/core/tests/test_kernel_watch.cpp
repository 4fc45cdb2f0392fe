#include "kernel_watch.hpp"

#include <thread>

#include "fixtures.hpp"
#include "test.hpp"

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

/// Counts how often it was looked at.
class Counted final : public Watched {
 public:
  void look(std::int64_t) noexcept override { ++looks; }
  std::atomic<int> looks{0};
};

/// Until this thread's own seat was looked at, which the watch's thread may be doing just now.
void await_look(std::int64_t now_ns) {
  while (!KernelWatch::get().look(now_ns)) std::this_thread::yield();
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
