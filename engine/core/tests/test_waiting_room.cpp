// Runs of a model with rules wait in front of the lanes: for others, for their turn, for a call.
#include <algorithm>
#include <string>
#include <vector>

#include "room_fixtures.hpp"
#include "test.hpp"

namespace waiting_room_tests {

using namespace engine;
using namespace engine::test;

TEST(a_run_waits_for_others_until_there_are_as_many_as_preferred) {
  Attended model({.preferred_rows = {3}, .delay_ns = hour_ns}, lanes);
  for (int i = 1; i <= 3; ++i) model.ask(i);
  model.open();
  CHECK((model.calls() == Calls{{1, 2, 3}}));
  CHECK(model.all_right() && model.leaves_nothing());
}

TEST(a_run_waits_for_others_until_no_more_rows_fit) {
  Attended model({.most_rows = 4, .delay_ns = hour_ns}, lanes);
  for (const int input : {1, 2'000, 2}) model.ask(input);
  model.open();
  CHECK((model.calls() == Calls{{1, 2'000, 2}}));
}

TEST(a_run_waits_for_no_longer_than_the_delay) {
  Attended model({.delay_ns = 20 * ms}, lanes);
  const std::int64_t since_ns = now_ns();
  model.ask(1);
  model.open();
  CHECK(now_ns() - since_ns >= 20 * ms);
  CHECK((model.calls() == Calls{{1}}) && model.all_right());
}

TEST(a_run_that_is_due_waits_for_a_part_of_what_it_has_to_spare) {
  // A call of eight rows takes 12 ms: nearly all is to spare, of which it may wait a quarter.
  CHECK(in_some_time([&](std::int64_t ns) {
    Attended model({.delay_ns = hour_ns}, lanes);
    const RunPtr run = model.ask(1, ends_in(ns));
    model.open();
    return run->outcome() == Outcome::ok;
  }));
}

TEST(a_run_without_time_to_spare_does_not_wait) {
  Attended model({.delay_ns = hour_ns}, lanes);
  RunOptions late;
  late.due_ns = now_ns();
  model.ask(1, late);
  model.open();
  CHECK((model.calls() == Calls{{1}}));
}

TEST(who_is_never_stacked_waits_for_nobody) {
  Attended model({.delay_ns = hour_ns}, lanes, {});
  model.ask(1);
  model.ask(2);
  model.open();
  CHECK(model.calls().size() == 2 && model.all_right());
}

TEST(no_more_calls_than_may_be_are_computed_at_once) {
  Attended model({.calls = 1}, lanes, {});
  for (int i = 1; i <= 20; ++i) model.ask(i);
  model.open();
  CHECK(model.most_inside() == 1);
  CHECK(model.calls().size() == 20 && model.all_right() && model.leaves_nothing());
}

TEST(what_waits_for_a_call_is_answered_by_the_next_one) {
  Attended model({.calls = 1}, lanes);
  model.close_with(1);
  for (int i = 2; i <= 5; ++i) model.ask(i);
  CHECK(model.room().waiting() == 4);
  model.open();
  CHECK((model.calls() == Calls{{1}, {2, 3, 4, 5}}));
}

TEST(calls_are_of_as_many_rows_as_are_preferred) {
  Attended model({.calls = 1, .preferred_rows = {2}}, lanes);
  model.close_with(1);
  for (int i = 2; i <= 6; ++i) model.ask(i);
  model.open();
  CHECK((model.calls() == Calls{{1}, {2, 3}, {4, 5}, {6}}));
}

TEST(a_full_queue_turns_away) {
  Attended model({.calls = 1, .levels = {{.most_waiting = 2}}}, lanes);
  model.close_with(1);
  for (int i = 2; i <= 3; ++i) model.ask(i);
  const RunPtr turned_away = model.ask(4);
  CHECK(turned_away->done() && turned_away->outcome() == Outcome::turned_away);
  CHECK(turned_away->error() == "Exceeds maximum queue size");
  model.open();
  CHECK((model.calls() == Calls{{1}, {2, 3}}) && model.leaves_nothing());
}

TEST(who_has_waited_for_too_long_is_turned_away_meanwhile) {
  Attended model({.calls = 1, .levels = {{.timeout_ns = ms}}}, lanes);
  model.close_with(1);
  const RunPtr turned_away = model.ask(2);
  turned_away->wait(0, false);
  CHECK(turned_away->outcome() == Outcome::turned_away);
  CHECK(turned_away->error() == "Request timeout expired");
  model.open();
  CHECK((model.calls() == Calls{{1}}));
}

TEST(who_has_waited_for_too_long_may_go_behind_the_others) {
  const LevelRules delays{.timeout_ns = hour_ns, .delays = true};
  Attended model({.calls = 1, .levels = {delays}}, lanes, {});
  model.close_with(1);
  model.ask(2);
  model.room().look(now_ns() + 2 * hour_ns);
  model.ask(3);
  model.open();
  CHECK((model.calls() == Calls{{1}, {3}, {2}}) && model.all_right());
}

TEST(the_most_urgent_level_goes_first) {
  Attended model({.calls = 1, .usual_level = 2, .levels = std::vector<LevelRules>(3)}, lanes, {});
  model.close_with(1);
  model.ask(3, of_level(3));
  model.ask(2);
  model.ask(10, of_level(1));
  model.ask(4, of_level(7));  // there is no such level: as usual
  model.open();
  CHECK((model.calls() == Calls{{1}, {10}, {2}, {4}, {3}}));
}

TEST(each_level_has_a_queue_of_its_own) {
  const std::vector<LevelRules> levels{{}, {.most_waiting = 1}};
  Attended model({.calls = 1, .levels = levels}, lanes);
  model.close_with(1);
  const RunPtr first = model.ask(2, of_level(2)), second = model.ask(3, of_level(2));
  const RunPtr urgent = model.ask(4, of_level(1));
  CHECK(second->outcome() == Outcome::turned_away);
  model.open();
  CHECK(first->outcome() == Outcome::ok && urgent->outcome() == Outcome::ok);
}

TEST(who_waits_ends_when_it_is_cancelled_or_its_deadline_passes) {
  Attended model({.calls = 1}, lanes);
  model.close_with(1);
  const RunPtr cancelled = model.ask(2), late = model.ask(3, ends_in(5 * ms));
  cancelled->cancel();
  cancelled->wait(0, false);
  late->wait(0, false);
  CHECK(cancelled->outcome() == Outcome::cancelled && late->outcome() == Outcome::deadline);
  model.open();
  CHECK((model.calls() == Calls{{1}}) && model.leaves_nothing());
}

TEST(a_machine_closes_while_runs_wait) {
  Attended model({.delay_ns = hour_ns}, lanes);
  const RunPtr run = model.ask(1);
  model.shut();
  CHECK(run->outcome() == Outcome::cancelled && model.calls().empty());
}

TEST(a_crowd_of_callers_is_answered_once_each) {
  Attended model({.calls = 2, .preferred_rows = {4}, .delay_ns = ms}, lanes);
  for (int i = 1; i <= 200; ++i) model.ask(i);
  model.open();
  std::vector<std::int64_t> asked;
  for (const auto& call : model.calls()) asked.insert(asked.end(), call.begin(), call.end());
  std::ranges::sort(asked);
  for (int i = 1; i <= 200; ++i) CHECK(asked.at(static_cast<std::size_t>(i) - 1) == i);
  CHECK(asked.size() == 200 && model.most_inside() <= 2);
  CHECK(model.all_right() && model.leaves_nothing());
}

TEST(rules_that_cannot_be_meant_are_refused) {
  CHECK(!failure_of([] { static_cast<void>(WaitingRoom::create({.levels = {}})); }).empty());
  CHECK(!failure_of([] { static_cast<void>(WaitingRoom::create({.usual_level = 2})); }).empty());
  CHECK(!failure_of([] { static_cast<void>(WaitingRoom::create({.delay_ns = -1})); }).empty());
}

}  // namespace waiting_room_tests
