// What may start while a wide node waits for its seats.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "fixtures.hpp"
#include "test.hpp"

namespace backfill_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::int64_t hour_ns = 3'600'000'000'000;
/// Only a failing test waits that long.
constexpr std::int64_t too_long_ns = 20'000'000'000;

void await(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

/// One lane executes a node of `held_ns`, as planned, for as long as the test wants; a node of all
/// lanes waits.
class Blocked {
 public:
  Blocked(int lanes, std::int64_t held_ns) : machine_(machine_of({cpu(lanes)})) {
    const PlanPtr wide = plan_of(0, [this] { wide_ran_ = true; }, lanes);
    std::atomic<bool> begun{false};
    submit(held_ns, [&] {
      begun = true;
      await(may_end_);
    });
    await(begun);
    runs_.push_back(machine_->submit(*wide, {}, {}));
  }
  ~Blocked() {
    may_end_ = true;
    for (const RunPtr& run : runs_) run->wait(0, false);
  }

  RunPtr submit(std::int64_t service_ns, std::function<void()> function, int width = 1,
                int priority = 0) {
    runs_.push_back(machine_->submit(*plan_of(service_ns, std::move(function), width), {},
                                     {.priority = priority}));
    return runs_.back();
  }
  /// Whether such a node ends while the other is held.
  bool starts(std::int64_t service_ns, int priority) {
    return submit(service_ns, [] {}, 1, priority)->wait(now_ns() + too_long_ns, false);
  }
  /// Whether such a node is passed by one that is surely short and behind all others.
  bool waits(std::int64_t service_ns) {
    const RunPtr narrow = submit(service_ns, [] {});
    submit(1, [] {}, 1, -1)->wait(0, false);
    return !narrow->done();
  }
  void let_go() { may_end_ = true; }
  [[nodiscard]] bool wide_ran() const { return wide_ran_; }

 private:
  PlanPtr plan_of(std::int64_t service_ns, std::function<void()> function, int width) {
    PlanBuilder builder(machine_.get());
    builder.add_node({.name = "n",
                      .kernel = call(std::move(function)),
                      .width = width,
                      .service_ns = service_ns});
    return builder.build();
  }

  MachineOwner machine_;
  std::atomic<bool> may_end_{false}, wide_ran_{false};
  std::vector<RunPtr> runs_;
};

/// Twice as many streams of narrow queries as lanes, until a wide one has run.
void run_wide_beside_streams(int lanes, std::int64_t narrow_service_ns) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<bool> wide_ran{false};
  std::atomic<int> renewals{0};
  PlanPtr narrow;
  PlanBuilder builder(machine.get());
  // Each ends by submitting the next: there is always one ready.
  builder.add_node({.name = "narrow",
                    .kernel = call([&] {
                      if (wide_ran || ++renewals > 1'000'000) return;
                      static_cast<void>(machine->submit(*narrow, {}, {}));
                    }),
                    .service_ns = narrow_service_ns});
  narrow = builder.build();
  PlanBuilder wide(machine.get());
  wide.add_node({.name = "wide", .kernel = call([&] { wide_ran = true; }), .width = lanes});
  for (int i = 0; i < 2 * lanes; ++i) static_cast<void>(machine->submit(*narrow, {}, {}));
  while (renewals < 100) std::this_thread::yield();
  machine->submit(*wide.build(), {}, {})->wait(0, false);
  CHECK(renewals <= 1'000'000);
  while (machine->stats().runs_in_flight != 0) std::this_thread::yield();
}

}  // namespace

TEST(short_nodes_start_while_a_wide_one_waits) {
  if (lanes == 1) return;
  CHECK(Blocked(lanes, hour_ns).starts(hour_ns / 2, 0));
}

TEST(nodes_that_would_delay_a_wide_one_wait_behind_it) {
  if (lanes == 1) return;
  CHECK(Blocked(lanes, hour_ns).waits(2 * hour_ns));
  CHECK(Blocked(lanes, hour_ns).waits(0));  // nothing is predicted
}

TEST(more_urgent_nodes_pass_a_wide_one_that_waits) {
  if (lanes == 1) return;
  CHECK(Blocked(lanes, hour_ns).starts(0, 1));
}

TEST(nothing_passes_a_wide_node_that_may_start_any_time) {
  if (lanes == 1) return;
  Blocked blocked(lanes, 0);
  std::atomic<int> order{0};
  int wide_was = 0, narrow_was = 0;
  const RunPtr wide = blocked.submit(0, [&] { wide_was = ++order; }, lanes);
  const RunPtr narrow = blocked.submit(1, [&] { narrow_was = ++order; });
  blocked.let_go();
  wide->wait(0, false);
  narrow->wait(0, false);
  CHECK(blocked.wide_ran());
  CHECK(wide_was == 1);
  CHECK(narrow_was == 2);
}

TEST(short_nodes_of_the_same_query_pass_its_wide_one) {
  if (lanes == 1) return;
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<bool> short_ran{false}, wide_ran{false};
  std::atomic<bool> passed{false};
  PlanBuilder builder(machine.get());
  const int first = builder.add_node({.name = "first"});
  builder.add_node({.name = "long",
                    .kernel = call([&] {
                      await(short_ran);
                      passed = !wide_ran;
                    }),
                    .after = {first},
                    .rank = 0,
                    .service_ns = hour_ns});
  builder.add_node({.name = "wide",
                    .kernel = call([&] { wide_ran = true; }),
                    .after = {first},
                    .width = lanes,
                    .rank = 1});
  builder.add_node({.name = "short",
                    .kernel = call([&] { short_ran = true; }),
                    .after = {first},
                    .rank = 2,
                    .service_ns = 1'000});
  CHECK(machine->submit(*builder.build(), {}, {})->wait(0, false));
  CHECK(passed);
}

TEST(lanes_are_forecast_while_there_are_plans_with_wide_nodes) {
  if (lanes == 1) return;
  MachineOwner machine(machine_of({cpu(lanes)}));
  const auto plan_of = [&](int width) {
    PlanBuilder builder(machine.get());
    builder.add_node({.name = "n", .width = width, .service_ns = 1});
    return builder.build();
  };
  const PlanPtr narrow = plan_of(1);
  CHECK(!machine->forecasts_lanes());
  PlanPtr wide = plan_of(lanes), other = plan_of(lanes);
  wide.reset();
  CHECK(machine->forecasts_lanes());
  other.reset();
  CHECK(!machine->forecasts_lanes());
}

TEST(streams_of_narrow_queries_do_not_starve_a_wide_one) { run_wide_beside_streams(lanes, 0); }

TEST(streams_of_short_queries_do_not_starve_a_wide_one) { run_wide_beside_streams(lanes, 1'000); }

}  // namespace backfill_tests
