// Callers who execute nodes while they wait: whose nodes they take, and whom an ending run wakes.
#include <chrono>
#include <functional>
#include <future>
#include <semaphore>
#include <thread>
#include <vector>

#include "fixtures.hpp"
#include "test.hpp"

namespace helpers_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::int64_t ms_ns = 1'000'000;

/// Only a failing test waits that long.
constexpr std::chrono::seconds too_long{20};

/// Waits for a flag or a count without sleeping.
template <typename Condition>
void until(Condition&& holds) {
  while (!holds()) std::this_thread::yield();
}

/// Whether something holds that an idle worker may forestall, since it was about to take or leave
/// a lane just then: in one of many tries.
bool sometimes(const std::function<bool()>& holds) {
  for (int tries = 0; tries < 100; ++tries)
    if (holds()) return true;
  return false;
}

/// A plan of one node.
PlanPtr one(const MachineOwner& machine, std::function<void()> function, int device = 0,
            std::int64_t service_ns = 0) {
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "n",
                    .device = device,
                    .kernel = call(std::move(function)),
                    .service_ns = service_ns});
  return builder.build();
}

/// Keeps lanes busy until it goes.
class Holders {
 public:
  Holders(const MachineOwner& machine, int lanes) {
    const PlanPtr plan = one(machine, [this] {
      ++held_;
      until([this] { return released_.load(); });
    });
    for (int i = 0; i < lanes; ++i) runs_.push_back(machine->submit(*plan, {}, {}));
    until([&] { return held_ == lanes; });
  }
  ~Holders() {
    released_ = true;
    for (const RunPtr& run : runs_) run->wait(0, false);
  }

 private:
  std::atomic<int> held_{0};
  std::atomic<bool> released_{false};
  std::vector<RunPtr> runs_;
};

/// A query of two nodes, planned for 50 ms each, of a caller who helps, on the only free lane;
/// between them a more urgent one comes, planned for `service_ns`. Whether the caller executes it.
bool caller_executes(int lanes, std::int64_t service_ns) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const Holders others(machine, lanes - 1);
  std::thread::id executed_by;
  const PlanPtr urgent =
      one(machine, [&] { executed_by = std::this_thread::get_id(); }, 0, service_ns);
  RunPtr submitted;
  PlanBuilder builder(machine.get());
  const int first = builder.add_node(
      {.name = "first",
       .kernel = call([&] { submitted = machine->submit(*urgent, {}, {.priority = 1}); }),
       .service_ns = 50 * ms_ns});
  builder.add_node({.name = "second", .after = {first}, .service_ns = 50 * ms_ns});
  const RunPtr mine = machine->run(*builder.build(), {}, {}, 0);
  CHECK(mine->outcome() == Outcome::ok);
  submitted->wait(0, false);
  return executed_by == std::this_thread::get_id();
}

}  // namespace

TEST(foreign_nodes_do_not_capture_a_caller_who_helps) {
  MachineOwner machine(machine_of({cpu(lanes), emulated(1)}));
  std::atomic<bool> begun{false}, may_end{false};
  const PlanPtr on_gpu = one(
      machine,
      [&] {
        begun = true;
        until([&] { return may_end.load(); });
      },
      1, 2 * ms_ns);
  auto caller = std::async(std::launch::async, [&] { return machine->run(*on_gpu, {}, {}, 0); });
  until([&] { return begun.load(); });
  bool returned = false;
  {
    const Holders foreign(machine, lanes);
    may_end = true;
    returned = caller.wait_for(too_long) == std::future_status::ready;
  }
  CHECK(returned);
}

TEST(a_caller_executes_foreign_nodes_that_end_before_its_own_query) {
  CHECK(sometimes([&] { return caller_executes(lanes, 1 * ms_ns); }));
}

TEST(a_caller_leaves_longer_and_unpredicted_foreign_nodes_to_the_workers) {
  CHECK(!caller_executes(lanes, 1'000 * ms_ns));
  CHECK(!caller_executes(lanes, 0));
}

TEST(a_parked_caller_is_woken_for_nodes_of_its_own_query) {
  MachineParams params = machine_of({cpu(lanes), emulated(1)});
  params.spin_ns = 0;
  MachineOwner machine(params);
  std::thread::id executed_by;
  PlanBuilder builder(machine.get());
  const int first = builder.add_node(
      {.name = "gpu", .device = 1, .kernel = call([] {}), .service_ns = 2 * ms_ns});
  builder.add_node({.name = "cpu",
                    .kernel = call([&] { executed_by = std::this_thread::get_id(); }),
                    .after = {first}});
  const PlanPtr plan = builder.build();
  CHECK(sometimes([&] {
    CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
    return executed_by == std::this_thread::get_id();
  }));
}

TEST(a_run_that_ends_wakes_its_own_waiters_only) {
  constexpr int callers = 64;
  MachineParams params = machine_of({cpu(lanes)});
  params.spin_ns = 0;
  MachineOwner machine(params);
  std::counting_semaphore<callers> may_end{0}, ended{0};
  const PlanPtr plan = one(machine, [&] { may_end.acquire(); });
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back([&] {
      static_cast<void>(machine->run(*plan, {}, {}, 0));
      ended.release();
    });
  until([&] { return machine->stats().runs_in_flight == callers; });
  for (int i = 0; i < callers; ++i) {
    may_end.release();
    ended.acquire();
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(machine->stats().devices[0].helper_wakes <= callers);
}

}  // namespace helpers_tests
