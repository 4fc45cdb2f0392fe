#include <algorithm>
#include <mutex>
#include <thread>

#include "fixtures.hpp"
#include "test.hpp"

namespace lanes_tests {

using namespace engine;
using namespace engine::test;

namespace {

/// Counts seats in use, and the most ever.
struct Usage {
  std::atomic<int> used{0}, most{0};

  [[nodiscard]] std::shared_ptr<const Kernel> kernel(int width) {
    return call([this, width] {
      const int now = used.fetch_add(width) + width;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      for (int i = 0; i < 50; ++i) cpu_relax();
      used.fetch_sub(width);
    });
  }
};

}  // namespace

TEST(wide_and_narrow_nodes_never_exceed_the_seats) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  Usage usage;
  PlanBuilder builder(machine.get());
  for (int i = 0; i < 120; ++i) {
    const int width = i % 5 == 0 ? lanes : i % 3 == 0 ? (lanes + 1) / 2 : 1;
    builder.add_node({.name = std::to_string(i),
                      .kernel = usage.kernel(width),
                      .after = i < 30 ? std::vector<int>{} : std::vector<int>{i - 30},
                      .width = width});
  }
  const PlanPtr plan = builder.build();
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        const RunPtr run = t == 0 ? machine->submit(*plan, {}, {}) : machine->run(*plan, {}, {}, 0);
        run->wait(0, t == 1);
        if (run->outcome() != Outcome::ok) ++wrong;
      }
    });
  for (auto& caller : callers) caller.join();
  CHECK(wrong == 0);
  CHECK(usage.most <= lanes);
  CHECK(machine->stats().devices[0].executed == 3 * 8 * 120);
}

TEST(helpers_do_not_add_lanes) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  Usage usage;
  PlanBuilder builder(machine.get());
  for (int i = 0; i < 60; ++i) builder.add_node({.name = "n", .kernel = usage.kernel(1)});
  const PlanPtr plan = builder.build();
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 10; ++i) machine->submit(*plan, {}, {})->wait(0, true);
    });
  for (auto& caller : callers) caller.join();
  CHECK(usage.most <= lanes);
}

TEST(all_lanes_work_at_once) {
  // Each node waits until every lane has one: passes only if no node waits behind another.
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> inside{0};
  PlanBuilder builder(machine.get());
  const int first = builder.add_node({.name = "first"});
  for (int i = 0; i < lanes; ++i)
    builder.add_node({.name = "meet",
                      .kernel = call([&] {
                        ++inside;
                        while (inside < lanes) std::this_thread::yield();
                      }),
                      .after = {first}});
  const PlanPtr plan = builder.build();
  for (int i = 0; i < 20; ++i) {
    inside = 0;
    CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
    inside = 0;
    const RunPtr run = machine->submit(*plan, {}, {});
    run->wait(0, false);
    CHECK(run->outcome() == Outcome::ok);
  }
}

TEST(thousands_of_nodes_may_be_ready_at_once) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> executed{0};
  PlanBuilder builder(machine.get());
  for (int i = 0; i < 3'000; ++i)
    builder.add_node({.name = "n", .kernel = call([&] { ++executed; })});
  const PlanPtr plan = builder.build();
  CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
  CHECK(executed == 3'000);
  const RunPtr run = machine->submit(*plan, {}, {});
  run->wait(0, true);
  CHECK(executed == 6'000);
  CHECK(machine->stats().devices[0].queued == 0);
}

TEST(spinners_make_room_for_wide_nodes) {
  // A wide node's kernel brings threads of its own, which spin too; nobody else may meanwhile.
  MachineParams params = machine_of({cpu(lanes)});
  params.thread_budget = lanes;
  params.spin_ns = 3'600'000'000'000;
  MachineOwner machine(params);
  std::atomic<int> refused{0};
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "wide",
                    .kernel = call([&] {
                      while (machine->budget().exceeded()) std::this_thread::yield();
                      if (!machine->budget().try_spin()) ++refused;
                    }),
                    .width = lanes});
  const PlanPtr plan = builder.build();
  for (int i = 0; i < 50; ++i) CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
  CHECK(refused == 50);
}

}  // namespace lanes_tests
