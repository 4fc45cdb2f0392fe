// What is predicted of runs, which are admitted, and how models share what is left.
#include <algorithm>
#include <thread>

#include "fixtures.hpp"
#include "scheduler/lane_outlook.hpp"
#include "test.hpp"

namespace admission_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::int64_t ms = 1'000'000, hour_ns = 3'600'000'000'000;

RunOrder due(std::int64_t due_ns, std::uint64_t arrival) {
  return RunOrder::of(0, false, due_ns, arrival);
}

LaneOutlook::Work work(const RunOrder& order, std::int64_t left_ns, int width = 1) {
  LaneOutlook::Work made;
  made.order = order;
  made.left_ns = left_ns;
  made.width = width;
  return made;
}

/// A plan of one node that runs until it is told to end, or not at all long.
PlanPtr planned(
    const MachineOwner& machine, std::int64_t service_ns, std::function<void()> function = [] {}) {
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "n", .kernel = call(std::move(function)), .service_ns = service_ns});
  return builder.build();
}

RunOptions due_in(std::int64_t ns) {
  RunOptions options;
  options.due_ns = now_ns() + ns;
  return options;
}

/// Holds all lanes, then lets a single one go, so that nodes run one at a time, and all in the end.
class Held {
 public:
  Held(const MachineOwner& machine, int lanes) {
    plan_ = planned(machine, 0, [this] {
      const std::atomic<bool>& until = ++held_ == 1 ? first_ : done_;
      while (!until) std::this_thread::yield();
    });
    RunOptions first;
    first.priority = 1'000;
    for (int i = 0; i < lanes; ++i) runs_.push_back(machine->submit(*plan_, {}, first));
    while (held_ < lanes) std::this_thread::yield();
  }
  ~Held() {
    first_ = done_ = true;
    for (const RunPtr& run : runs_) run->wait(0, false);
  }
  void let_one_go() { first_ = true; }

 private:
  std::atomic<int> held_{0};
  std::atomic<bool> first_{false}, done_{false};
  PlanPtr plan_;
  std::vector<RunPtr> runs_;
};

}  // namespace

TEST(an_outlook_lists_runs_over_the_lanes_in_their_order) {
  LaneOutlook outlook(2);
  const auto admit = [&](const LaneOutlook::Work& one) {
    const LaneOutlook::Forecast found = outlook.forecast(one, 0);
    outlook.add(one);
    return found.outlook;
  };
  CHECK(admit(work(due(100 * ms, 0), 10 * ms)).end_ns == 10 * ms);
  CHECK(admit(work(due(200 * ms, 1), 10 * ms)).end_ns == 10 * ms);
  CHECK(admit(work(due(300 * ms, 2), 10 * ms)).end_ns == 20 * ms);
  // Before all of them; then a wide one, which needs both lanes.
  CHECK(admit(work(due(50 * ms, 3), 4 * ms)).start_ns == 0);
  const Outlook wide = admit(work(due(400 * ms, 4), 20 * ms, 2));
  CHECK(wide.start_ns == 20 * ms && wide.end_ns == 30 * ms);
  CHECK(outlook.remove(due(50 * ms, 3)).left_ns == 4 * ms && outlook.size() == 4);
  CHECK(outlook.remove(due(50 * ms, 3)).left_ns == 0 && outlook.size() == 4);
}

TEST(an_outlook_says_how_long_a_further_run_waits) {
  LaneOutlook outlook(2);
  const auto admit = [&](const LaneOutlook::Work& one) {
    static_cast<void>(outlook.forecast(one, 0));
    outlook.add(one);
  };
  CHECK(outlook.wait_ns(0) == 0);
  admit(work(due(100 * ms, 0), 10 * ms));
  CHECK(outlook.wait_ns(0) == 0);  // a lane is free
  admit(work(due(200 * ms, 1), 30 * ms));
  CHECK(outlook.wait_ns(0) == 10 * ms);
  admit(work(due(300 * ms, 2), 5 * ms));
  CHECK(outlook.wait_ns(0) == 15 * ms);
  admit(work(RunOrder::of(0, true, 0, 3), 40 * ms));  // makes way
  CHECK(outlook.wait_ns(0) == 15 * ms);
  outlook.begin(due(100 * ms, 0), 1, 10 * ms, 0);
  outlook.begin(due(200 * ms, 1), 1, 30 * ms, 0);
  CHECK(outlook.wait_ns(4 * ms) == 11 * ms);
}

TEST(an_outlook_knows_what_of_a_node_is_done) {
  LaneOutlook outlook(1);
  const RunOrder first = due(100 * ms, 0);
  static_cast<void>(outlook.forecast(work(first, 10 * ms), 0));
  outlook.add(work(first, 10 * ms));
  outlook.begin(first, 1, 8 * ms, 0);
  const auto end_ns = [&](std::int64_t now) {
    return outlook.forecast(work(due(200 * ms, 1), ms), now).outlook.end_ns;
  };
  CHECK(end_ns(0) == 11 * ms && end_ns(6 * ms) == 11 * ms);
  CHECK(end_ns(9 * ms) == 12 * ms);  // a node that lasts longer ends at once, as far as is known
  outlook.end(first, 1, 8 * ms, 0);
  CHECK(end_ns(9 * ms) == 12 * ms);
}

TEST(what_pre_empts_does_not_wait_for_a_lane_but_for_several) {
  for (const int width : {1, 2}) {
    LaneOutlook outlook(2);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const LaneOutlook::Work later = work(due(500 * ms, i), 20 * ms, width);
      static_cast<void>(outlook.forecast(later, 0));
      outlook.add(later);
      if (width == 1 || i == 0) outlook.begin(later.order, width, 20 * ms, 0);
    }
    const Outlook urgent = outlook.forecast(work(due(50 * ms, 9), ms), 0).outlook;
    CHECK(urgent.start_ns == (width == 1 ? 0 : 10 * ms));
    // Nor does it wait for best effort, and what is of an earlier share does not pre-empt.
    LaneOutlook idle(1);
    const LaneOutlook::Work effort = work(RunOrder::of(0, true, 0, 0, 0), 20 * ms, width);
    static_cast<void>(idle.forecast(effort, 0));
    idle.add(effort);
    idle.begin(effort.order, 1, 20 * ms, 0);
    CHECK(idle.forecast(work(due(50 * ms, 9), ms), 0).outlook.start_ns == 0);
    const Outlook fair = outlook.forecast(work(RunOrder::of(0, false, 0, 9, 0), ms), 0).outlook;
    CHECK(fair.start_ns == 20 * ms);
  }
}

TEST(a_run_harms_those_that_it_makes_late_and_not_those_that_are_anyhow) {
  LaneOutlook outlook(1);
  const auto admit = [&](std::int64_t due_ns, std::uint64_t arrival) {
    LaneOutlook::Work one = work(due(due_ns, arrival), 10 * ms);
    one.due_ns = due_ns;
    static_cast<void>(outlook.forecast(one, 0));
    outlook.add(one);
  };
  admit(12 * ms, 0);
  // Both together may take a tenth longer, of which three quarters are kept for what is promised.
  CHECK(outlook.forecast(work(due(11 * ms, 9), 5 * ms), 0).harms_ns == 4'125'000);
  CHECK(outlook.forecast(work(due(13 * ms, 9), 5 * ms), 0).harms_ns == 0);
  CHECK(outlook.forecast(work(due(11 * ms, 9), 5 * ms), 5 * ms).harms_ns == 0);
}

TEST(what_a_model_is_entitled_to_is_kept_by_the_others) {
  FlowDemand demand;
  const FairShare much, little;
  for (int i = 0; i < 100; ++i) {
    demand.ask(&much, 1, 1'000 * ms, 100 * ms, i * 10 * ms);
    demand.ask(&little, 1, 100 * ms, ms, i * 10 * ms);
  }
  const std::int64_t now = 1'000 * ms;
  const std::int64_t kept = demand.kept_ns(&much, 1'000 * ms, 1, now);
  CHECK(kept > 40 * ms && kept < 120 * ms);  // a tenth of a lane, of which 0.63 are remembered
  demand.queue(&little, 30 * ms, now);
  CHECK(demand.kept_ns(&much, 1'000 * ms, 1, now) == kept - 30 * ms);
  CHECK(demand.kept_ns(&little, 100 * ms, 1, now) == 0);             // that is due later
  CHECK(demand.kept_ns(&little, 2'000 * ms, 1, now) == 1'000 * ms);  // half of it, by weight
}

TEST(service_times_follow_what_is_measured) {
  ServiceTimes times;
  times.plan_node(0, 1, 8 * ms);
  times.plan_node(1, 2, 5 * ms);
  CHECK(times.work_ns() == 18 * ms && times.of_executor(0).mean_ns == 8 * ms);
  ServiceTimes too_long;
  too_long.plan_node(0, 1, 8 * ms);
  too_long.note(0, 2 * ms);  // no plan is faster than it is
  CHECK(too_long.work_ns() == 2 * ms);
  times.note(0, 11 * ms);  // what was planned counts twice: a first run is slow
  CHECK(times.of_executor(0).mean_ns == 9 * ms && times.work_ns() == 19 * ms);
  for (int i = 1; i < 16; ++i) CHECK(!times.doubts());
  CHECK(times.will_doubt() && times.doubts() && !times.doubts());
  times.note(0, 16 * ms);
  CHECK(times.of_executor(0).mean_ns == 16 * ms && times.work_ns() == 26 * ms);
  times.note(0, 8 * ms);
  CHECK(times.of_node(0) == 12 * ms);
  for (int i = 0; i < 2; ++i) times.note(0, 12 * ms);
  times.note(1, 5 * ms);
  CHECK(times.of_executor(1).mean_ns == 10 * ms && times.as_measured(18 * ms) == 22 * ms);
  for (int i = 0; i < 200; ++i) times.note(0, 16 * ms), times.note(1, 5 * ms);
  CHECK(times.least_part() > 0.98);
}

TEST(a_core_that_was_taken_away_once_says_little_of_a_service_time) {
  ServiceTimes times;
  times.plan_node(0, 1, ms);
  for (int i = 0; i < 100; ++i) times.note(0, ms + i % 2 * ms / 10);
  const TimeSpent usual = times.of_executor(0);
  times.note(0, 10 * ms);
  CHECK(times.of_executor(0).mean_ns < usual.mean_ns + ms / 10);
  CHECK(times.of_executor(0).spread_ns < 2 * usual.spread_ns);
  for (int i = 0; i < 40; ++i) times.note(0, 10 * ms);
  CHECK(times.of_executor(0).mean_ns > 9 * ms);  // it does take so long by now
}

TEST(margins_are_learnt_by_model_so_that_one_of_a_hundred_ends_later) {
  ErrorMargins margins;
  const FairShare rough, even;
  // Ends are up to 10 spreads late, all as often; of the other never.
  int later = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double off = static_cast<double>(i * 7'919 % 10'000) / 1'000;
    const bool is_later = off > margins.of(&rough);
    if (i >= 10'000) later += is_later ? 1 : 0;
    margins.learn(&rough, is_later, i);
    margins.learn(&even, false, i);
  }
  CHECK(later > 50 && later < 150);
  CHECK(margins.of(&rough) > 9 && margins.of(&even) == 1);
  margins.forget(&rough);
  CHECK(margins.of(&rough) == ErrorMargins::at_first && margins.of(&even) == 1);
}

TEST(one_of_two_hundred_promises_may_be_a_chance_that_is_missed) {
  ErrorMargins margins;
  const FairShare share;
  int missed = 0, kept = 0;
  for (int i = 0; i < 10'000; ++i) {
    const bool is_chance = margins.has_chance(&share);
    if (is_chance) margins.take_chance(&share, i);
    if (is_chance && i % 2 == 0) {
      ++missed;
    } else {
      margins.keep(&share, is_chance, i);
      ++kept;
    }
  }
  CHECK(missed > 40 && missed < 60);  // and the first ones
  ErrorMargins lucky;
  for (int i = 0; i < 1'000; ++i) {
    CHECK(lucky.has_chance(&share));
    lucky.take_chance(&share, i);
    lucky.keep(&share, true, i);
  }
}

TEST(what_is_expected_in_time_and_not_surely_is_a_chance_that_its_model_has_a_few_times) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = planned(machine, hour_ns);  // a fifth more or less, three times
  plan->admit_by({.refuses_late = true});
  Held held(machine, lanes);
  std::vector<RunPtr> runs;
  for (int i = 0; i < lanes; ++i) runs.push_back(machine->submit(*plan, {}, due_in(2 * hour_ns)));
  for (int i = 0; i < 5; ++i)
    runs.push_back(machine->submit(*plan, {}, due_in(2 * hour_ns + hour_ns / 4)));
  const auto refused = std::ranges::count_if(
      runs, [](const RunPtr& run) { return run->done() && run->outcome() == Outcome::refused; });
  CHECK(lanes < 3 || refused == 2);
  CHECK(machine->stats().admission.promised == runs.size() - static_cast<std::size_t>(refused));
  held.let_one_go();
  for (const RunPtr& run : runs) CHECK(run->wait(0, false));
}

TEST(what_begins_at_once_and_is_expected_in_time_is_never_refused_for_its_margin) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = planned(machine, hour_ns);
  plan->admit_by({.refuses_late = true});
  Held held(machine, lanes);
  std::vector<RunPtr> runs;
  for (int i = 0; i < lanes; ++i)
    runs.push_back(machine->submit(*plan, {}, due_in(hour_ns + hour_ns / 3)));
  CHECK(machine->stats().admission.promised == static_cast<std::uint64_t>(lanes));
  held.let_one_go();
  for (const RunPtr& run : runs) CHECK(run->wait(0, false));
}

TEST(an_outlook_adds_up_the_margins_of_what_goes_before) {
  LaneOutlook outlook(1);
  LaneOutlook::Work first = work(due(100 * ms, 0), 10 * ms), second = work(due(200 * ms, 1), ms);
  first.margin_ns = 4 * ms;
  second.margin_ns = 3 * ms;
  CHECK(outlook.forecast(second, 0).outlook.surely_ns() < 5 * ms);
  static_cast<void>(outlook.forecast(first, 0));
  outlook.add(first);
  const Outlook found = outlook.forecast(second, 0).outlook;
  CHECK(found.end_ns == 11 * ms && found.margin_ns > 5 * ms && found.margin_ns < 6 * ms);
}

TEST(what_cannot_be_in_time_is_refused_and_holds_nothing) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int in = builder.add_value("in"), out = builder.add_value("out");
  builder.add_node({.name = "n",
                    .kernel = std::make_shared<SumKernel>(),
                    .inputs = {in},
                    .outputs = {out},
                    .service_ns = hour_ns});
  builder.set_inputs({in});
  builder.set_outputs({out});
  const PlanPtr plan = builder.build();
  const Inputs inputs{number(1)};
  // Without rules it is answered late.
  CHECK(machine->run(*plan, inputs, due_in(ms), 0)->outcome() == Outcome::ok);
  plan->admit_by({.refuses_late = true});
  for (int i = 0; i < 3; ++i) {
    const RunPtr run = i == 0 ? machine->submit(*plan, inputs, due_in(ms))
                              : machine->run(*plan, inputs, due_in(ms), 0);
    CHECK(run->done() && run->outcome() == Outcome::refused);
    CHECK(run->refused_by_ns() > hour_ns / 2);
    CHECK(run->error().find("late") != std::string::npos);
  }
  CHECK(is_empty(machine) && machine->stats().admission.refused == 3);
  CHECK(machine->submit(*plan, inputs, {})->wait(0, false));  // it is not due
  CHECK(machine->submit(*plan, inputs, due_in(10 * hour_ns))->wait(0, false));
  CHECK(machine->stats().admission.promised == 1 && machine->stats().admission.kept == 1);
}

TEST(no_promised_run_is_made_late_by_a_later_one) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = planned(machine, hour_ns);
  plan->admit_by({.refuses_late = true});
  Held held(machine, lanes);
  std::vector<RunPtr> promised;
  for (int i = 0; i < lanes; ++i)
    promised.push_back(machine->submit(*plan, {}, due_in(2 * hour_ns)));
  CHECK(!promised.back()->done());
  const RunPtr sooner = machine->submit(*plan, {}, due_in(2 * hour_ns - 100 * ms));
  CHECK(sooner->done() && sooner->outcome() == Outcome::refused);
  // One of another model that answers late goes behind them.
  int before = 0;
  const PlanPtr late = planned(machine, hour_ns, [&] {
    for (const RunPtr& run : promised) before += run->done() ? 1 : 0;
  });
  const RunPtr behind = machine->submit(*late, {}, due_in(2 * hour_ns - 100 * ms));
  CHECK(!behind->done());
  held.let_one_go();
  CHECK(behind->wait(0, false) && behind->outcome() == Outcome::ok);
  for (const RunPtr& run : promised) CHECK(run->wait(0, false));
  CHECK(before == lanes);
}

TEST(a_promised_run_that_is_late_ends_without_computing) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> computed{0};
  const PlanPtr plan = planned(machine, 1'000, [&] { ++computed; });
  plan->admit_by({.refuses_late = true});
  Held held(machine, lanes);
  const RunPtr run = machine->submit(*plan, {}, due_in(500 * ms));
  CHECK(!run->done());
  const std::int64_t until_ns = now_ns() + 501 * ms;
  while (now_ns() < until_ns) std::this_thread::yield();
  held.let_one_go();
  CHECK(run->wait(0, false) && run->outcome() == Outcome::refused && run->refused_by_ns() > 0);
  CHECK(computed == 0 && machine->stats().admission.broken == 1);
}

TEST(without_deadlines_the_wait_is_bounded) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const PlanPtr plan = planned(machine, 100 * ms);
  plan->admit_by({.max_wait_ns = 450 * ms});
  Held held(machine, lanes);
  std::vector<RunPtr> admitted;
  RunPtr run = machine->submit(*plan, {}, {});
  while (!run->done()) {
    admitted.push_back(std::move(run));
    run = machine->submit(*plan, {}, {});
  }
  // Those that hold the lanes are of unknown length: they may end at once.
  CHECK(static_cast<int>(admitted.size()) == 5 * lanes);
  CHECK(run->outcome() == Outcome::refused && run->refused_by_ns() > 40 * ms);
  CHECK(run->error().find("waited") != std::string::npos);
  held.let_one_go();
  for (const RunPtr& other : admitted) CHECK(other->wait(0, false));
}

TEST(a_light_model_goes_before_a_flood_of_another) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  int heavy_done = 0, light_done = 0, most_before = 0;  // one lane at a time writes
  const PlanPtr heavy = planned(machine, 100 * ms, [&] { ++heavy_done; });
  const PlanPtr light = planned(machine, ms, [&] {
    most_before = std::max(most_before, heavy_done);
    ++light_done;
  });
  Held held(machine, lanes);
  std::vector<RunPtr> runs;
  for (int i = 0; i < 250; ++i) runs.push_back(machine->submit(*heavy, {}, {}));
  for (int i = 0; i < 20; ++i) runs.push_back(machine->submit(*light, {}, {}));
  held.let_one_go();
  for (const RunPtr& run : runs) CHECK(run->wait(0, false));
  CHECK(light_done == 20 && most_before == 1);  // that had come before
}

TEST(models_share_by_weight) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::vector<int> order;  // one lane at a time writes
  const auto noting = [&](int model) {
    return planned(machine, ms, [&, model] { order.push_back(model); });
  };
  const PlanPtr one = noting(0), three = noting(1);
  three->share().weigh(3);
  {
    Held held(machine, lanes);
    std::vector<RunPtr> runs;
    for (int i = 0; i < 120; ++i) runs.push_back(machine->submit(*one, {}, {}));
    for (int i = 0; i < 120; ++i) runs.push_back(machine->submit(*three, {}, {}));
    held.let_one_go();
    for (const RunPtr& run : runs) CHECK(run->wait(0, false));
  }
  const auto threes = std::count(order.begin(), order.begin() + 100, 1);
  CHECK(threes >= 74 && threes <= 76);
}

TEST(a_model_that_was_idle_has_saved_nothing) {
  FairShare busy, idle;
  VirtualTime time;
  for (int i = 0; i < 100; ++i) time.advance(0, busy.take(0, time.now(0), 10));
  CHECK(time.now(0) == 990);
  CHECK(idle.take(0, time.now(0), 10) == 990);  // not before what is served
  CHECK(busy.take(0, time.now(0), 10) == 1'000);
  busy.give_back(0, 10);
  CHECK(busy.next(0, 0) == 1'000 && busy.next(1, 0) == 0);
}

}  // namespace admission_tests
