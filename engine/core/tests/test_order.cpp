// In which order ready nodes run: between queries, within one, and wide ones among narrow ones.
#include <sched.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <thread>

#include "fixtures.hpp"
#include "test.hpp"

namespace order_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::int64_t hour_ns = 3'600'000'000'000;

/// Waits for a flag without sleeping.
void await(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

RunOptions with(int priority, std::int64_t deadline_ns) {
  RunOptions options;
  options.priority = priority;
  options.deadline_ns = deadline_ns;
  return options;
}

/// Holds all lanes of a device; then lets a single one go, so that nodes run one at a time.
class OneLane {
 public:
  OneLane(const MachineOwner& machine, int device, int lanes) : machine_(machine) {
    for (int lane = 0; lane < lanes; ++lane) {
      PlanBuilder builder(machine.get());
      builder.add_node({.name = "hold", .device = device, .kernel = call([this, lane] {
                                                            ++held_;
                                                            await(lane == 0 ? first_ : others_);
                                                          })});
      holders_.push_back(machine->submit(*builder.build(), {}, with(1'000, 0)));
    }
    while (held_ < lanes) std::this_thread::yield();
  }
  ~OneLane() {
    first_ = others_ = true;
    for (const RunPtr& holder : holders_) holder->wait(0, false);
  }
  void submit(const PlanPtr& plan, RunOptions options) {
    runs_.push_back(machine_->submit(*plan, {}, std::move(options)));
  }
  /// Runs what was submitted.
  void let_go() {
    first_ = true;
    for (const RunPtr& run : runs_) run->wait(0, false);
  }

 private:
  const MachineOwner& machine_;
  std::atomic<int> held_{0};
  std::atomic<bool> first_{false}, others_{false};
  std::vector<RunPtr> holders_, runs_;
};

/// Plans whose nodes note that they ran.
class Notes {
 public:
  PlanPtr plan(const MachineOwner& machine, int device, int note) {
    PlanBuilder builder(machine.get());
    builder.add_node({.name = "n", .device = device, .kernel = kernel(note)});
    return builder.build();
  }
  std::shared_ptr<const Kernel> kernel(int note) {
    return call([this, note] { order.push_back(note); });
  }
  std::vector<int> order;  // one lane at a time writes
};

/// The order in which runs with these options go, submitted in this order.
std::vector<int> order_of(const MachineOwner& machine, int device, int lanes,
                          const std::vector<RunOptions>& options) {
  Notes notes;
  std::vector<PlanPtr> plans;
  for (std::size_t i = 0; i < options.size(); ++i)
    plans.push_back(notes.plan(machine, device, static_cast<int>(i)));
  OneLane lane(machine, device, lanes);
  for (std::size_t i = 0; i < options.size(); ++i) lane.submit(plans[i], options[i]);
  lane.let_go();
  return notes.order;
}

}  // namespace

TEST(earlier_deadlines_overtake_later_ones_and_none) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const std::int64_t far_ns = now_ns() + hour_ns;
  CHECK((order_of(machine, 0, lanes,
                  {with(0, 0), with(0, far_ns + 2), with(0, far_ns), with(0, far_ns + 1)}) ==
         std::vector<int>{2, 3, 1, 0}));
}

TEST(equal_deadlines_go_by_arrival) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const std::vector<RunOptions> equal(100, with(0, now_ns() + hour_ns));
  std::vector<int> expected(equal.size());
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(order_of(machine, 0, lanes, equal) == expected);
}

TEST(higher_priorities_go_before_any_deadline) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const std::int64_t far_ns = now_ns() + hour_ns;
  CHECK((order_of(machine, 0, lanes,
                  {with(-2, far_ns), with(-1, 0), with(0, far_ns), with(1, 0), with(7, far_ns + 1),
                   with(7, far_ns)}) == std::vector<int>{5, 4, 3, 2, 1, 0}));
}

TEST(what_is_due_goes_before_what_is_not_and_best_effort_last) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const std::int64_t far_ns = now_ns() + hour_ns;
  const auto due = [&](int priority, std::int64_t due_ns) {
    RunOptions options;
    options.priority = priority;
    options.due_ns = due_ns;
    return options;
  };
  CHECK((order_of(machine, 0, lanes, {due(0, 0), due(0, far_ns + 1), due(-3, 0), due(0, far_ns)}) ==
         std::vector<int>{3, 1, 0, 2}));
  constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
  const RunOrder last = RunOrder::of(least, false, 0, 1),
                 idle = RunOrder::of(most, true, far_ns, 0);
  CHECK(last < idle && idle.is_best_effort() && !last.is_best_effort());
  CHECK(!RunOrder::of(most, false, far_ns, 0).is_best_effort());
  CHECK(RunOrder::of(least, true, 0, 0).is_best_effort());
}

TEST(runs_are_as_urgent_as_their_plan_says_where_they_say_nothing) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  Notes notes;
  const PlanPtr late = notes.plan(machine, 0, 0), soon = notes.plan(machine, 0, 1),
                other = notes.plan(machine, 0, 2);
  late->be_urgent({.due_after_ns = hour_ns});
  soon->be_urgent({.due_after_ns = hour_ns / 2});
  other->be_urgent({.priority = -1});
  OneLane lane(machine, 0, lanes);
  for (const PlanPtr& plan : {other, late, soon}) lane.submit(plan, {});
  RunOptions urgent;
  urgent.priority = 1;
  lane.submit(other, urgent);
  lane.let_go();
  CHECK((notes.order == std::vector<int>{2, 1, 0, 2}));
}

TEST(what_cannot_be_in_time_gives_way_to_what_can_but_not_to_what_is_not_due) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const std::int64_t now = now_ns();
  const auto due = [](std::int64_t due_ns) {
    RunOptions options;
    options.due_ns = due_ns;
    return options;
  };
  CHECK((order_of(machine, 0, lanes,
                  {due(now - 1), due(0), due(now + hour_ns), due(now - 2),
                   due(now + 2 * hour_ns)}) == std::vector<int>{2, 4, 3, 0, 1}));
  // A prediction counts as long as it has not begun.
  Notes notes;
  const auto planned = [&](int note, std::int64_t service_ns) {
    PlanBuilder builder(machine.get());
    builder.add_node({.name = "n", .kernel = notes.kernel(note), .service_ns = service_ns});
    return builder.build();
  };
  const PlanPtr longer = planned(0, 2 * hour_ns), shorter = planned(1, 1'000);
  OneLane lane(machine, 0, lanes);
  lane.submit(longer, due(now + hour_ns));
  lane.submit(shorter, due(now + 10 * hour_ns));
  lane.let_go();
  CHECK((notes.order == std::vector<int>{1, 0}));
}

TEST(all_nodes_of_a_late_run_give_way) {
  constexpr int nodes = 200;
  MachineOwner machine(machine_of({cpu(lanes)}));
  Notes notes;
  PlanBuilder builder(machine.get());
  for (int i = 0; i < nodes; ++i)
    builder.add_node({.name = "n", .kernel = notes.kernel(i), .rank = i});
  const PlanPtr wide = builder.build(), other = notes.plan(machine, 0, -1);
  RunOptions late, due;
  late.due_ns = now_ns() - 1;
  due.due_ns = now_ns() + hour_ns;
  OneLane lane(machine, 0, lanes);
  lane.submit(wide, late);
  lane.submit(other, due);
  lane.let_go();
  CHECK(notes.order.size() == nodes + 1 && notes.order.front() == -1);
  CHECK(std::is_sorted(notes.order.begin(), notes.order.end()));
}

TEST(best_effort_has_lanes_of_its_own_that_give_way) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> held{0}, idle_threads{0};
  std::atomic<bool> done{false};
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> on_caller{false};
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "idle", .kernel = call([&] {
                                      if (sched_getscheduler(0) == SCHED_IDLE) ++idle_threads;
                                      if (std::this_thread::get_id() == caller) on_caller = true;
                                      ++held;
                                      await(done);
                                    })});
  const PlanPtr idle = builder.build();
  idle->be_urgent({.best_effort = true});
  std::vector<RunPtr> runs;
  for (int i = 0; i < lanes; ++i) runs.push_back(machine->submit(*idle, {}, {}));
  while (held < lanes) std::this_thread::yield();
  // All lanes of best effort are busy, and no other.
  Notes notes;
  const PlanPtr urgent = notes.plan(machine, 0, 1);
  CHECK(machine->submit(*urgent, {}, {})->wait(0, false));
  CHECK(machine->run(*urgent, {}, {}, 0)->outcome() == Outcome::ok);
  CHECK(notes.order.size() == 2);
  done = true;
  for (const RunPtr& run : runs) CHECK(run->wait(0, true) && run->outcome() == Outcome::ok);
  CHECK(machine->run(*idle, {}, {}, 0)->outcome() == Outcome::ok);  // not in the caller's thread
  CHECK(!on_caller && idle_threads == lanes + 1);
  CHECK(machine->stats().devices[0].executed == static_cast<std::uint64_t>(lanes) + 3);
}

TEST(a_best_effort_run_of_several_nodes_stays_on_its_lanes) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> elsewhere{0}, count{0};
  PlanBuilder builder(machine.get());
  const auto kernel = [&] {
    return call([&] {
      ++count;
      if (sched_getscheduler(0) != SCHED_IDLE) ++elsewhere;
    });
  };
  const int first = builder.add_node({.name = "first", .kernel = kernel()});
  std::vector<int> middle;
  for (int i = 0; i < 50; ++i)
    middle.push_back(builder.add_node({.name = "m", .kernel = kernel(), .after = {first}}));
  builder.add_node({.name = "last", .kernel = kernel(), .after = middle, .width = lanes});
  const PlanPtr plan = builder.build();
  RunOptions options;
  options.best_effort = true;
  for (int i = 0; i < 20; ++i) CHECK(machine->run(*plan, {}, options, 0)->outcome() == Outcome::ok);
  CHECK(count == 20 * 52 && elsewhere == 0);
}

TEST(timed_devices_keep_the_same_order) {
  MachineOwner machine(machine_of({cpu(1), emulated(lanes)}));
  const std::int64_t far_ns = now_ns() + hour_ns;
  // One thread submits to the device, so one held node holds it.
  CHECK((order_of(machine, 1, 1,
                  {with(0, 0), with(0, 0), with(0, far_ns), with(0, far_ns - 1), with(1, 0)}) ==
         std::vector<int>{4, 3, 2, 0, 1}));
}

TEST(ranks_order_the_nodes_of_a_query) {
  constexpr int nodes = 5'000;
  MachineOwner machine(machine_of({cpu(lanes)}));
  Notes notes;
  PlanBuilder builder(machine.get());
  const int first = builder.add_node({.name = "first", .rank = -1});
  for (int i = 0; i < nodes; ++i) {
    const int rank = (i * 7) % nodes;
    std::vector<int> after = i % 2 == 0 ? std::vector<int>{first} : std::vector<int>{};
    builder.add_node({.name = "n", .kernel = notes.kernel(rank), .after = after, .rank = rank});
  }
  const PlanPtr plan = builder.build();
  OneLane lane(machine, 0, lanes);
  lane.submit(plan, {});
  lane.let_go();
  CHECK(notes.order.size() == nodes);
  CHECK(std::is_sorted(notes.order.begin(), notes.order.end()));
}

TEST(begun_queries_end_before_later_ones_begin) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  Notes notes;
  std::vector<PlanPtr> plans;
  for (int query = 0; query < 3; ++query) {
    PlanBuilder builder(machine.get());
    int last = builder.add_node({.name = "n", .kernel = notes.kernel(query)});
    for (int i = 0; i < 3; ++i) {
      const int left =
          builder.add_node({.name = "l", .kernel = notes.kernel(query), .after = {last}});
      const int right =
          builder.add_node({.name = "r", .kernel = notes.kernel(query), .after = {last}});
      last = builder.add_node({.name = "j", .kernel = notes.kernel(query), .after = {left, right}});
    }
    plans.push_back(builder.build());
  }
  OneLane lane(machine, 0, lanes);
  for (const PlanPtr& plan : plans) lane.submit(plan, {});
  lane.let_go();
  CHECK(notes.order.size() == 30);
  CHECK(std::is_sorted(notes.order.begin(), notes.order.end()));
}

TEST(an_urgent_query_overtakes_between_two_nodes) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  Notes notes;
  const PlanPtr urgent = notes.plan(machine, 0, 9);
  PlanBuilder builder(machine.get());
  RunPtr submitted;
  const int first =
      builder.add_node({.name = "first", .kernel = call([&] {
                                           notes.order.push_back(0);
                                           submitted = machine->submit(*urgent, {}, with(1, 0));
                                         })});
  const int second = builder.add_node({.name = "a", .kernel = notes.kernel(1), .after = {first}});
  builder.add_node({.name = "b", .kernel = notes.kernel(2), .after = {second}});
  OneLane lane(machine, 0, lanes);
  lane.submit(builder.build(), {});
  lane.let_go();
  CHECK((notes.order == std::vector<int>{0, 9, 1, 2}));
  submitted->wait(0, false);
}

TEST(queries_pipeline_over_free_lanes) {
  if (lanes == 1) return;
  // The first query's narrow phase ends only once all later ones have: each found a free lane.
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> ended{0};
  constexpr int later = 20;
  PlanBuilder narrow(machine.get());
  const int start = narrow.add_node({.name = "start"});
  const int hold = narrow.add_node({.name = "narrow",
                                    .kernel = call([&] {
                                      while (ended < later) std::this_thread::yield();
                                    }),
                                    .after = {start}});
  narrow.add_node({.name = "end", .after = {hold}});
  PlanBuilder other(machine.get());
  other.add_node({.name = "n", .kernel = call([&] { ++ended; })});
  const PlanPtr plan = other.build();
  std::vector<RunPtr> runs{machine->submit(*narrow.build(), {}, {})};
  for (int i = 0; i < later; ++i) runs.push_back(machine->submit(*plan, {}, {}));
  for (const RunPtr& run : runs) run->wait(0, false);
  CHECK(ended == later);
}

}  // namespace order_tests
