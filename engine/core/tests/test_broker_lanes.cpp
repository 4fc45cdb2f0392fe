// Machines of several processes: lanes that wait, and lanes that need not.
#include <algorithm>
#include <thread>

#include "broker_fixtures.hpp"
#include "fixtures.hpp"
#include "scheduler/cores.hpp"

namespace broker_lanes_tests {

using namespace engine;
using namespace engine::broker;
using namespace engine::test;

namespace {

/// Two brokers; the first is of a machine.
struct Shared {
  explicit Shared(int lanes) {
    own.join(folder.file(), "own");
    other.join(folder.file(), "other");
    MachineParams params = machine_of({cpu(lanes)});
    params.broker = &own;
    machine = std::make_unique<MachineOwner>(params);
  }
  void take_all_elsewhere(std::int64_t due_in_ns) {
    for (int i = 0; i < available_cores(); ++i) {
      rows.push_back(other.take_row());
      static_cast<void>(other.begin(rows.back(), claim(due_in_ns), at_once));
    }
  }
  void end_elsewhere() {
    for (const int row : rows) other.end(row);
    rows.clear();
  }
  [[nodiscard]] PlanPtr plan(std::function<void()> work, std::int64_t service_ns = second_ns) {
    PlanBuilder builder(machine->get());
    builder.add_node({.name = "node", .kernel = call(std::move(work)), .service_ns = service_ns});
    return builder.build();
  }
  [[nodiscard]] RunPtr submit(const PlanPtr& plan, std::int64_t due_in_ns) {
    RunOptions options;
    if (due_in_ns != 0) options.due_ns = now_ns() + due_in_ns;
    return (*machine)->submit(*plan, {}, options);
  }

  BrokerFolder folder;
  Broker own, other;
  std::vector<int> rows;
  std::unique_ptr<MachineOwner> machine;
};

}  // namespace

TEST(a_lane_leases_what_it_computes) {
  Shared shared(lanes);
  std::vector<Listed> seen;
  const PlanPtr plan = shared.plan([&] { seen = shared.other.list(); });
  CHECK(shared.submit(plan, 3'600 * second_ns)->wait(0, false));
  CHECK(seen.size() == 1 && seen[0].what == "node" && seen[0].order.due_ns != RunOrder::never);
  CHECK(shared.other.list().empty());
  const PlanPtr quick = shared.plan([&] { seen = shared.other.list(); }, 1'000);
  CHECK(shared.submit(quick, 0)->wait(0, false));
  CHECK(seen.empty());
}

TEST(a_lane_waits_for_more_urgent_processes_and_begins_after_all) {
  Shared shared(lanes);
  std::atomic<int> done{0};
  const PlanPtr plan = shared.plan([&] { ++done; });
  shared.take_all_elsewhere(second_ns);
  const RunPtr run = shared.submit(plan, 3'600 * second_ns);
  CHECK(holds([&] {
    const auto leases = shared.other.list();
    return leases.size() > shared.rows.size() || done == 1;
  }));
  CHECK(run->wait(0, false));
  CHECK(done == 1 && run->outcome() == Outcome::ok);
}

TEST(what_is_urgent_here_does_not_wait_behind_what_waits) {
  Shared shared(lanes);
  std::atomic<int> waited{0}, done{0};
  const PlanPtr slow = shared.plan([&] { ++waited; }), urgent = shared.plan([&] { ++done; });
  for (int round = 0; round < 3; ++round) {
    shared.take_all_elsewhere(60 * second_ns);
    std::vector<RunPtr> runs;
    for (int i = 0; i < lanes; ++i) runs.push_back(shared.submit(slow, 3'600 * second_ns));
    CHECK(shared.submit(urgent, 2 * second_ns)->wait(0, false));
    shared.end_elsewhere();
    for (const RunPtr& run : runs) CHECK(run->wait(0, false));
  }
  CHECK(done == 3 && waited == 3 * lanes);
}

TEST(a_cancelled_run_does_not_wait) {
  Shared shared(lanes);
  const PlanPtr plan = shared.plan([] {});
  shared.take_all_elsewhere(second_ns);
  const RunPtr run = shared.submit(plan, 3'600 * second_ns);
  run->cancel();
  CHECK(run->wait(0, false) && run->outcome() == Outcome::cancelled);
}

TEST(best_effort_waits_for_nobody) {
  Shared shared(lanes);
  std::atomic<bool> began{false}, ends{false};
  const PlanPtr plan = shared.plan([&] {
    began = true;
    while (!ends) usleep(100);
  });
  RunOptions options;
  options.best_effort = true;
  const RunPtr run = (*shared.machine)->submit(*plan, {}, options);
  CHECK(holds([&] { return began.load(); }));
  shared.take_all_elsewhere(second_ns);
  const std::vector<Listed> found = shared.other.list();
  const auto lease =
      std::ranges::find_if(found, [](const Listed& other) { return other.order.is_best_effort(); });
  const bool shown = lease != found.end() && lease->computes;
  ends = true;
  CHECK(run->wait(0, false));
  CHECK(shown && run->outcome() == Outcome::ok);
}

TEST(threads_do_not_spin_while_others_have_work_for_the_cores) {
  Shared shared(lanes);
  CHECK(!(*shared.machine)->is_crowded());
  shared.take_all_elsewhere(second_ns);
  CHECK(!(*shared.machine)->budget().try_spin(shared.own.leased_elsewhere()));
  (*shared.machine)->budget().add_running(1);
  CHECK((*shared.machine)->is_crowded());
  (*shared.machine)->budget().remove_running(1);
  shared.end_elsewhere();
  CHECK(!(*shared.machine)->is_crowded());
}

TEST(a_wait_for_another_process_is_recorded) {
  Shared shared(lanes);
  FlightRecorder& recorder = (*shared.machine)->recorder();
  recorder.ask_until(now_ns() + 3'600 * second_ns);
  const PlanPtr plan = shared.plan([] {});
  shared.take_all_elsewhere(second_ns);
  CHECK(shared.submit(plan, 3'600 * second_ns)->wait(0, false));
  std::vector<NodeRing::Record> waits, nodes;
  recorder.each_ring([&](const FlightRecorder::Ring& ring) {
    ring.records.read([&](const NodeRing::Record& r) { (r[2] < 0 ? waits : nodes).push_back(r); });
  });
  CHECK(waits.size() == 1 && nodes.size() == 1);
  const auto [arrival, plans_number, process, lane, start_ns, end_ns] = waits[0];
  CHECK(arrival == nodes[0][0] && plans_number == nodes[0][1] && lane == nodes[0][3]);
  CHECK(end_ns - start_ns >= Broker::news_ns && end_ns <= nodes[0][4]);
  const std::string name = recorder.processes().at(static_cast<std::size_t>(-1 - process));
  CHECK(name == "other (" + std::to_string(getpid()) + ")");
}

TEST(what_others_lease_counts_where_runs_are_admitted) {
  Shared shared(std::min(lanes, available_cores()));
  const PlanPtr plan = shared.plan([] {}, 1'000'000);
  plan->admit_by({.refuses_late = true});
  Claim prior = claim(0, 3'600 * second_ns);
  prior.order = RunOrder::of(1, false, 0, 0);
  for (int i = 0; i < available_cores(); ++i)
    static_cast<void>(shared.other.begin(i, prior, at_once));
  const auto is_refused = [&](std::int64_t due_in_ns) {
    const RunPtr run = shared.submit(plan, due_in_ns);
    CHECK(run->wait(0, false));
    return run->outcome() == Outcome::refused;
  };
  CHECK(is_refused(second_ns / 2));
  CHECK(!is_refused(3'600 * second_ns));
  for (int i = 0; i < available_cores(); ++i) shared.other.end(i);
  CHECK(!is_refused(3'600 * second_ns));
  CHECK((*shared.machine)->admission().counts().refused == 1);
}

}  // namespace broker_lanes_tests
