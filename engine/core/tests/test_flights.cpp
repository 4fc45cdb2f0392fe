// What is recorded of runs, while somebody wants it.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "fixtures.hpp"
#include "scheduler/flight_recorder.hpp"
#include "test.hpp"

namespace flights_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::int64_t hour_ns = 3'600'000'000'000;

/// A node that was recorded, and in whose ring.
struct Found {
  RingKind kind;
  std::uint32_t executor;
  std::int64_t arrival, plan, node, lane, start_ns, end_ns;
};

std::vector<Found> nodes_on(const MachineOwner& machine) {
  std::vector<Found> found;
  machine->recorder().each_ring([&](const FlightRecorder::Ring& ring) {
    ring.records.read([&](const NodeRing::Record& r) {
      found.push_back({ring.kind, ring.executor, r[0], r[1], r[2], r[3], r[4], r[5]});
    });
  });
  std::ranges::sort(found, {}, &Found::start_ns);
  return found;
}

std::vector<RunRing::Record> runs_of(const PlanPtr& plan) {
  std::vector<RunRing::Record> found;
  plan->flown().runs().read([&](const RunRing::Record& run) { found.push_back(run); });
  return found;
}

PlanPtr chain(const MachineOwner& machine, int count, int device = 0) {
  PlanBuilder builder(machine.get());
  for (int i = 0; i < count; ++i)
    builder.add_node({.name = std::to_string(i),
                      .device = device,
                      .kernel = call([] {}),
                      .after = i == 0 ? std::vector<int>{} : std::vector<int>{i - 1},
                      .service_ns = 1'000});
  return builder.build();
}

void ask(const MachineOwner& machine) { machine->recorder().ask_until(now_ns() + hour_ns); }

RunOptions due_in(std::int64_t ns) {
  RunOptions options;
  options.due_ns = now_ns() + ns;
  return options;
}

}  // namespace

TEST(a_ring_keeps_the_newest) {
  FlightRing<2> ring(4);
  int read = 0;
  ring.read([&](const auto&) { ++read; });
  CHECK(read == 0);
  for (std::int64_t i = 0; i < 10; ++i) ring.write({i, -i});
  std::vector<std::int64_t> found;
  ring.read([&](const FlightRing<2>::Record& record) {
    CHECK(record[1] == -record[0]);
    found.push_back(record[0]);
  });
  CHECK((found == std::vector<std::int64_t>{6, 7, 8, 9}));
  CHECK(ring.written() == 10);
}

TEST(records_are_whole_whoever_writes_and_reads) {
  FlightRing<5> ring(8);
  std::atomic<bool> done{false};
  std::atomic<int> torn{0};
  std::vector<std::thread> writers;
  for (std::int64_t w = 0; w < 3; ++w)
    writers.emplace_back([&, w] {
      for (std::int64_t i = 0; i < 20'000; ++i) {
        const std::int64_t value = 3 * i + w;
        ring.write({value, value, value, value, value});
      }
    });
  std::thread reader([&] {
    while (!done)
      ring.read([&](const FlightRing<5>::Record& record) {
        if (std::ranges::count(record, record[0]) != 5) ++torn;
      });
  });
  for (std::thread& writer : writers) writer.join();
  done = true;
  reader.join();
  CHECK(torn == 0);
  CHECK(ring.written() == 60'000);
  int left = 0;
  ring.read([&](const auto&) { ++left; });
  CHECK(left >= 1 && left <= 8);
}

TEST(nothing_is_recorded_unless_somebody_wants_it) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = chain(machine, 3);
  static_cast<void>(machine->run(*plan, {}, {}, 0));
  CHECK(machine->recorder().on_since_ns() == 0);
  CHECK(nodes_on(machine).empty() && runs_of(plan).empty());
}

TEST(nodes_and_runs_are_recorded_while_somebody_asks) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = chain(machine, 3);
  const std::int64_t before_ns = now_ns();
  ask(machine);
  CHECK(machine->recorder().on_since_ns() >= before_ns);
  for (int i = 0; i < 2; ++i) static_cast<void>(machine->run(*plan, {}, {}, 0));
  const auto nodes = nodes_on(machine);
  const auto runs = runs_of(plan);
  CHECK(nodes.size() == 6 && runs.size() == 2);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& run = runs[i / 3];
    CHECK(nodes[i].plan == plan->flown().number() &&
          nodes[i].node == static_cast<std::int64_t>(i % 3));
    CHECK(nodes[i].arrival == run[0] && nodes[i].kind == RingKind::lane);
    CHECK(nodes[i].lane >= 0 && nodes[i].lane < lanes);
    CHECK(run[1] <= nodes[i].start_ns && nodes[i].start_ns <= nodes[i].end_ns);
    CHECK(nodes[i].end_ns <= run[3]);
    if (i % 3 != 0) CHECK(nodes[i - 1].end_ns <= nodes[i].start_ns);
  }
  CHECK(runs[0][2] == 0 && runs[0][4] == static_cast<std::int64_t>(Outcome::ok));
  CHECK(plan->flown().late() == 0);
}

TEST(it_is_off_when_the_time_is_over) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = chain(machine, 1);
  machine->recorder().ask_until(now_ns() - 1);
  static_cast<void>(machine->run(*plan, {}, {}, 0));
  CHECK(!machine->recorder().is_on() && nodes_on(machine).empty());
}

TEST(a_plan_whose_runs_are_due_has_it_on) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanPtr plan = chain(machine, 1);
  const PlanPtr other = chain(machine, 1);
  plan->be_urgent({.due_after_ns = hour_ns});
  plan->be_urgent({.due_after_ns = 2 * hour_ns});
  static_cast<void>(machine->run(*other, {}, {}, 0));
  CHECK(runs_of(other).size() == 1);
  plan->be_urgent({});
  CHECK(!machine->recorder().is_on());
  plan->be_urgent({.due_after_ns = hour_ns});
  CHECK(machine->recorder().is_on());
  plan.reset();
  CHECK(!machine->recorder().is_on());
}

TEST(what_ran_of_plans_that_are_gone_is_remembered) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  ask(machine);
  PlanPtr plan = chain(machine, 2), measured = chain(machine, 1);
  plan->flown().be_called("vad", true);
  measured->flown().be_called("vad", false);
  static_cast<void>(machine->run(*measured, {}, {}, 0));
  plan->be_urgent({.priority = 3});
  static_cast<void>(machine->run(*plan, {}, {}, 0));
  const std::uint32_t number = plan->flown().number();
  plan.reset();
  measured.reset();
  const auto gone = machine->recorder().gone();
  CHECK(gone.size() == 2 && gone[1].flown->runs().written() == 0);
  CHECK(gone[0].flown->number() == number && gone[0].flown->label() == "vad");
  CHECK(gone[0].urgency.priority == 3 && gone[0].flown->runs().written() == 1);
  CHECK(gone[0].nodes.size() == 2 && gone[0].nodes[1].name == "1");
  CHECK(gone[0].nodes[0].after.empty() && gone[0].nodes[1].after == std::vector<std::uint32_t>{0});
}

TEST(a_run_that_is_due_has_what_follows_recorded) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = chain(machine, 1);
  static_cast<void>(machine->run(*plan, {}, due_in(hour_ns), 0));
  static_cast<void>(machine->run(*plan, {}, due_in(-1), 0));
  const auto runs = runs_of(plan);
  CHECK(runs.size() == 1 && runs[0][2] != 0 && runs[0][3] > runs[0][2]);
  CHECK(plan->flown().late() == 1);
}

TEST(skipped_nodes_are_not_recorded_and_how_runs_end_is) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int first = builder.add_node(
      {.name = "fails", .kernel = call([] { throw std::runtime_error("broken"); })});
  builder.add_node({.name = "skipped", .kernel = call([] {}), .after = {first}});
  const PlanPtr plan = builder.build();
  ask(machine);
  CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::failed);
  const auto nodes = nodes_on(machine);
  CHECK(nodes.size() == 1 && nodes[0].node == 0);
  CHECK(runs_of(plan)[0][4] == static_cast<std::int64_t>(Outcome::failed));
}

TEST(a_lent_place_is_seen_on_the_lane_that_lent_it) {
  MachineOwner machine(machine_of({cpu(1)}));
  ask(machine);
  std::atomic<bool> held{false}, done{false};
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "hold",
                    .kernel = call([&] {
                      held = true;
                      while (!done) usleep(100);
                    }),
                    .service_ns = hour_ns});
  const PlanPtr holds = builder.build();
  const PlanPtr urgent = chain(machine, 2);
  const RunPtr holder = machine->submit(*holds, {}, due_in(2 * hour_ns));
  while (!held) usleep(100);
  static_cast<void>(machine->run(*urgent, {}, due_in(hour_ns), 0));
  done = true;
  holder->wait(0, false);
  const auto nodes = nodes_on(machine);
  CHECK(nodes.size() == 3);
  CHECK(nodes[0].plan == holds->flown().number() && nodes[0].kind == RingKind::lane);
  for (std::size_t i = 1; i < 3; ++i) {
    CHECK(nodes[i].plan == urgent->flown().number() && nodes[i].kind == RingKind::borrowed);
    CHECK(nodes[i].lane == nodes[0].lane && nodes[i].end_ns <= nodes[0].end_ns);
  }
}

TEST(lanes_of_what_is_best_effort_are_told_apart) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = chain(machine, 2);
  ask(machine);
  RunOptions options;
  options.best_effort = true;
  machine->submit(*plan, {}, options)->wait(0, false);
  const auto nodes = nodes_on(machine);
  CHECK(nodes.size() == 2);
  for (const Found& node : nodes) CHECK(node.kind == RingKind::best_effort);
}

TEST(other_devices_are_recorded_too_as_a_trace_has_them) {
  MachineOwner machine(machine_of({cpu(lanes), emulated(2)}));
  const PlanPtr plan = chain(machine, 2, 1);
  ask(machine);
  RunOptions options;
  options.traced = true;
  const RunPtr run = machine->run(*plan, {}, options, 0);
  const auto nodes = nodes_on(machine);
  CHECK(nodes.size() == 2);
  for (const Found& node : nodes) {
    const NodeSpan& span = run->spans()[static_cast<std::size_t>(node.node)];
    CHECK(node.executor == 1 && node.lane == span.lane);
    CHECK(node.start_ns == span.start_ns && node.end_ns == span.end_ns);
  }
}

}  // namespace flights_tests
