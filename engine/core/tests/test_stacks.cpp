// Runs of one plan that wait for a lane at the same time are answered together.
#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "fixtures.hpp"
#include "stack_fixtures.hpp"
#include "test.hpp"

namespace stacks_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::int64_t hour_ns = 3'600'000'000'000;
/// Keeps every lane busy, then lets one go, which answers what was submitted meanwhile.
class Crowd {
 public:
  Crowd(const MachineOwner& machine, int lanes) : machine_(machine) {
    RunOptions first;
    first.priority = 1'000;
    for (int lane = 0; lane < lanes; ++lane) {
      PlanBuilder builder(machine.get());
      builder.add_node({.name = "hold", .kernel = call([this, lane] {
                                          ++held_;
                                          while (!(lane == 0 ? one_goes_ : all_go_))
                                            std::this_thread::yield();
                                        })});
      plans_.push_back(builder.build());
      holders_.push_back(machine->submit(*plans_.back(), {}, first));
    }
    while (held_ < lanes) std::this_thread::yield();
  }
  ~Crowd() {
    one_goes_ = all_go_ = true;
    for (const RunPtr& holder : holders_) holder->wait(0, false);
  }
  RunPtr ask(const StackedModel& model, std::int64_t input, RunOptions options = {},
             std::size_t bytes = 8) {
    runs_.push_back(
        machine_->submit(*model.plan, Inputs{number(input, bytes)}, std::move(options)));
    return runs_.back();
  }
  void answer() {
    one_goes_ = true;
    for (const RunPtr& run : runs_) run->wait(0, false);
  }
  [[nodiscard]] bool all_right() const {
    return std::ranges::all_of(runs_, [](const RunPtr& run) {
      return run->outcome() == Outcome::ok && number_of(run->outputs()[0]) > 0;
    });
  }

 private:
  const MachineOwner& machine_;
  std::atomic<int> held_{0};
  std::atomic<bool> one_goes_{false}, all_go_{false};
  std::vector<PlanPtr> plans_;
  std::vector<RunPtr> holders_, runs_;
};

using Calls = std::vector<std::vector<std::int64_t>>;

RunOptions due_in(std::int64_t ns) {
  RunOptions options;
  options.due_ns = now_ns() + ns;
  return options;
}

RunOptions traced() {
  RunOptions options;
  options.traced = true;
  return options;
}

}  // namespace

TEST(stacks_what_waits_and_each_gets_its_own_answer) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  Crowd crowd(machine, lanes);
  std::vector<RunPtr> runs;
  for (int i = 1; i <= 5; ++i) runs.push_back(crowd.ask(model, i, traced()));
  crowd.answer();
  CHECK((model.kernel->calls() == Calls{{1, 2, 3, 4, 5}}));
  for (int i = 1; i <= 5; ++i) {
    CHECK(number_of(runs[i - 1]->outputs()[0]) == i + 1);
    CHECK(runs[i - 1]->spans()[0].stacked == 5);
  }
  CHECK(model.plan->stacking()->stacks() == 1 && model.plan->stacking()->queries() == 5);
  CHECK(model.plan->stacking()->of_size(5).stacks == 1);
  CHECK(model.plan->stacking()->of_size(5).took_ns > 0);
  CHECK(model.plan->stacking()->of_size(4).stacks == 0);
}

TEST(stacks_no_more_rows_than_it_may) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine, takes(4 * ms, ms, 4));
  Crowd crowd(machine, lanes);
  for (const int input : {1, 2, 2'000, 3, 3'000, 4}) crowd.ask(model, input);
  crowd.answer();
  // Two rows, three rows: what does not fit any more waits for the next call.
  CHECK((model.kernel->calls() == Calls{{1, 2, 2'000}, {3, 3'000}, {4}}));
  CHECK(crowd.all_right());
}

TEST(stacks_nothing_that_gains_nothing) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine, takes(0, ms));
  Crowd crowd(machine, lanes);
  for (int i = 1; i <= 3; ++i) crowd.ask(model, i);
  crowd.answer();
  CHECK((model.kernel->calls() == Calls{{1}, {2}, {3}}));
  CHECK(model.plan->stacking()->stacks() == 0);
}

TEST(stacks_no_other_shapes_and_leaves_them_in_order) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  Crowd crowd(machine, lanes);
  crowd.ask(model, 1);
  crowd.ask(model, 2, {}, 16);
  crowd.ask(model, 3);
  crowd.ask(model, 4, {}, 16);
  crowd.answer();
  CHECK((model.kernel->calls() == Calls{{1, 3}, {2}, {4}}));
  CHECK(crowd.all_right());
}

TEST(stacks_no_query_of_too_few_rows) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine, takes(4 * ms, ms), 2);
  Crowd crowd(machine, lanes);
  for (const int input : {2'000, 1, 2'001, 2}) crowd.ask(model, input);
  crowd.answer();
  CHECK((model.kernel->calls() == Calls{{2'000, 2'001}, {1}, {2}}));
}

TEST(stacks_as_many_as_leave_each_in_time) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine, takes(hour_ns, hour_ns));  // 2, 3, 4, ... hours
  Crowd crowd(machine, lanes);
  for (int i = 1; i <= 6; ++i) crowd.ask(model, i, due_in(4 * hour_ns + hour_ns / 2));
  crowd.answer();
  CHECK((model.kernel->calls()[0] == std::vector<std::int64_t>{1, 2, 3}));
  CHECK(crowd.all_right());
}

TEST(stacks_late_runs_behind_those_that_may_be_in_time) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine, takes(hour_ns, hour_ns / 8));
  Crowd crowd(machine, lanes);
  for (int i = 1; i <= 2; ++i) crowd.ask(model, i, due_in(ms));
  for (int i = 3; i <= 4; ++i) crowd.ask(model, i, due_in(9 * hour_ns));
  crowd.answer();
  CHECK(crowd.all_right());
  const Calls calls = model.kernel->calls();
  // The first of all is taken as the queue has it, which knows of no service time here.
  const auto place = [&](std::int64_t input) {
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (std::ranges::find(calls[i], input) != calls[i].end()) return i;
    return calls.size();
  };
  CHECK(place(3) <= place(2) && place(4) <= place(2));
}

TEST(a_stack_passes_nothing_by_that_is_more_urgent) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine), other(machine, {});
  Crowd crowd(machine, lanes);
  RunOptions urgent, most_urgent;
  urgent.priority = 1;
  most_urgent.priority = 2;
  for (int i = 1; i <= 2; ++i) crowd.ask(model, i, most_urgent);
  crowd.ask(other, 3, urgent);
  for (int i = 4; i <= 5; ++i) crowd.ask(model, i);
  std::vector<std::size_t> others_before;
  model.kernel->on_call = [&](CancelToken*) {
    others_before.push_back(other.kernel->calls().size());
  };
  crowd.answer();
  CHECK((model.kernel->calls() == Calls{{1, 2}, {4, 5}}));
  CHECK((others_before == std::vector<std::size_t>{0, 1}));
}

TEST(a_stack_passes_by_what_only_came_earlier) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine), other(machine);
  Crowd crowd(machine, lanes);
  for (int i = 1; i <= 3; ++i) {
    crowd.ask(model, i);
    crowd.ask(other, 10 + i);
  }
  crowd.answer();
  CHECK((model.kernel->calls() == Calls{{1, 2, 3}}));
  CHECK((other.kernel->calls() == Calls{{11, 12, 13}}));
}

TEST(bad_data_fails_its_own_run_only) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  Crowd crowd(machine, lanes);
  const RunPtr good = crowd.ask(model, 1), wrong = crowd.ask(model, bad),
               later = crowd.ask(model, 3);
  crowd.answer();
  CHECK(good->outcome() == Outcome::ok && number_of(good->outputs()[0]) == 2);
  CHECK(later->outcome() == Outcome::ok && number_of(later->outputs()[0]) == 4);
  CHECK(wrong->outcome() == Outcome::failed);
  CHECK(wrong->error() == "model 'model': bad data");
  CHECK((model.kernel->calls() == Calls{{1, bad, 3}, {1}, {bad}, {3}}));
  CHECK(model.plan->stacking()->stacks() == 0);
}

TEST(stacks_no_longer_where_that_always_fails) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  Crowd crowd(machine, lanes);
  for (int i = 0; i < 100; ++i) crowd.ask(model, bad);
  crowd.answer();
  CHECK(model.plan->stacking()->has_failed());
  const Calls calls = model.kernel->calls();
  CHECK(std::ranges::count_if(calls, [](const auto& asked) { return asked.size() > 1; }) == 8);
}

TEST(cancelled_runs_are_not_in_the_stack) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  Crowd crowd(machine, lanes);
  std::vector<RunPtr> runs;
  for (int i = 1; i <= 4; ++i) runs.push_back(crowd.ask(model, i));
  runs[0]->cancel();
  runs[2]->cancel();
  crowd.answer();
  CHECK((model.kernel->calls() == Calls{{2, 4}}));
  CHECK(runs[2]->outcome() == Outcome::cancelled && runs[3]->outcome() == Outcome::ok);
}

TEST(one_that_is_cancelled_meanwhile_does_not_end_the_others) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  Crowd crowd(machine, lanes);
  const RunPtr gone = crowd.ask(model, 1), stays = crowd.ask(model, 2);
  bool is_told = true;
  model.kernel->on_call = [&](CancelToken* token) {
    gone->cancel();
    is_told = token->is_cancelled();
  };
  crowd.answer();
  CHECK(!is_told);
  CHECK(gone->outcome() == Outcome::cancelled && stays->outcome() == Outcome::ok);
}

TEST(a_kernel_ends_when_all_of_its_stack_have) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  Crowd crowd(machine, lanes);
  const RunPtr one = crowd.ask(model, 1), two = crowd.ask(model, 2);
  model.kernel->on_call = [&](CancelToken* token) {
    one->cancel();
    two->cancel();
    while (!token->is_cancelled()) KernelWatch::get().look(now_ns());
    throw std::runtime_error("ended");
  };
  crowd.answer();
  CHECK(one->outcome() == Outcome::cancelled && two->outcome() == Outcome::cancelled);
  CHECK((model.kernel->calls() == Calls{{1, 2}}));
}

TEST(a_stack_is_shared_with_lanes_that_are_free) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine, takes(4 * ms, ms, 64));
  std::vector<RunPtr> runs;
  for (int i = 1; i <= 200; ++i)
    runs.push_back(machine->submit(*model.plan, Inputs{number(i)}, {}));
  for (int i = 1; i <= 200; ++i) {
    runs[i - 1]->wait(0, false);
    CHECK(number_of(runs[i - 1]->outputs()[0]) == i + 1);
  }
  std::size_t asked = 0;
  for (const auto& call : model.kernel->calls()) asked += call.size();
  CHECK(asked == 200);
}

TEST(stacks_may_be_turned_off_and_on_meanwhile) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  std::atomic<bool> over{false};
  std::thread changes([&] {
    for (int i = 0; !over; i = (i + 1) % 3)
      if (i == 0)
        model.plan->stack_by(nullptr);
      else
        model.stack(takes(4 * ms, ms, 2 + 3 * i), static_cast<std::uint32_t>(i));
  });
  for (int round = 0; round < 20; ++round) {
    std::vector<RunPtr> runs;
    for (int i = 1; i <= 20; ++i)
      runs.push_back(machine->submit(*model.plan, Inputs{number(i)}, {}));
    for (int i = 1; i <= 20; ++i) {
      runs[i - 1]->wait(0, false);
      CHECK(number_of(runs[i - 1]->outputs()[0]) == i + 1);
    }
  }
  over = true;
  changes.join();
}

TEST(best_effort_is_stacked_too) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  const StackedModel model(machine);
  RunOptions options;
  options.best_effort = true;
  std::atomic<bool> begun{false}, goes{false};
  model.kernel->on_call = [&](CancelToken*) {
    begun = true;
    while (!goes) std::this_thread::yield();
  };
  std::vector<RunPtr> runs;
  for (int lane = 0; lane < lanes + 6; ++lane)
    runs.push_back(machine->submit(*model.plan, Inputs{number(lane)}, options));
  while (!begun) std::this_thread::yield();
  goes = true;
  for (const RunPtr& run : runs) {
    run->wait(0, false);
    CHECK(run->outcome() == Outcome::ok);
  }
}

TEST(only_one_kernel_on_one_lane_is_stacked) {
  MachineOwner machine(machine_of({cpu(std::max(lanes, 2))}));
  const StackedModel wide(machine, {}, 1, 2), narrow(machine, {});
  CHECK(failure_of([&] { wide.stack(takes(1, 1)); }) ==
        "only runs of one kernel on one lane are answered together");
  CHECK(failure_of([&] { narrow.stack({}); }) ==
        "a stack has 0 rows at most, got queries of at least 1");
  CHECK(failure_of([&] { narrow.stack({5, 0}); }) == "stacks take a time, got 0");
  CHECK(narrow.plan->stacking() == nullptr);
}

TEST(what_is_observed_counts_for_deadlines_and_not_for_what_gains) {
  const Stacking stacking(std::make_shared<NumberStacker>(), 1, takes(4 * ms, ms));
  CHECK(stacking.rows_within(7 * ms) == 3 && stacking.rows_within(ms) == 0);
  for (int i = 0; i < 200; ++i) stacking.note(2, 12 * ms, 2);
  CHECK(std::abs(stacking.takes_ns(8) - 24 * ms) < ms / 10);
  CHECK(stacking.rows_within(7 * ms) == 0);
  CHECK(stacking.gains(2, 2 * stacking.takes_ns(1)));
}

}  // namespace stacks_tests
