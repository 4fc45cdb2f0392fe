// How long runs wait in their model's room is known before, and who would wait too long is refused.
#include <cstdint>
#include <vector>

#include "room_fixtures.hpp"
#include "test.hpp"

namespace room_forecast_tests {

using namespace engine;
using namespace engine::test;

namespace {

RunOptions due_in(std::int64_t ns) {
  RunOptions options;
  options.due_ns = now_ns() + ns;
  return options;
}

/// When the call of one that came now would begin, from now on, in tenths of an hour.
std::int64_t starts_in(const Attended& model, std::optional<int> priority = {}) {
  const std::int64_t now = now_ns();
  const Outlook found = model.room().forecast(model.plan(), priority, now);
  return (found.start_ns - now + hour_ns / 20) / (hour_ns / 10);
}

}  // namespace

TEST(a_free_call_begins_at_once) {
  const Attended model({.calls = 1}, lanes, {}, hour_ns);
  const std::int64_t now = now_ns();
  const Outlook found = model.room().forecast(model.plan(), {}, now);
  CHECK(found.start_ns == now && found.end_ns == now + hour_ns);
}

TEST(who_comes_waits_for_the_calls_of_those_before) {
  for (const std::size_t calls : {1U, 2U}) {
    Attended model({.calls = calls}, lanes, {}, hour_ns);
    for (std::size_t i = 0; i < calls; ++i) model.close_with(1);
    CHECK(starts_in(model) == 10);
    for (std::size_t i = 0; i < 2 * calls; ++i) model.ask(2);
    CHECK(starts_in(model) == 30);
    model.open();
    CHECK(starts_in(model) == 0);
  }
}

TEST(those_that_are_answered_together_are_one_call) {
  // A call of eight rows takes as long as one of a single row, and a tenth.
  Attended model({.calls = 1}, lanes, takes(hour_ns * 99 / 100, hour_ns / 100), hour_ns);
  model.close_with(1);
  for (int i = 0; i < 7; ++i) model.ask(2);
  CHECK(starts_in(model) == 10);
  model.ask(3);
  CHECK(starts_in(model) == 21);
  model.open();
}

TEST(who_is_more_urgent_waits_for_nobody_else) {
  Attended model({.calls = 1, .usual_level = 2, .levels = std::vector<LevelRules>(2)}, lanes, {},
                 hour_ns);
  model.close_with(1);
  for (int i = 0; i < 3; ++i) model.ask(2);
  CHECK(starts_in(model) == 40 && starts_in(model, 4) == 10);
  model.open();
}

TEST(who_will_have_ended_where_it_waits_is_not_waited_for) {
  Attended model({.calls = 1, .levels = {{.timeout_ns = hour_ns / 2}}}, lanes, {}, hour_ns);
  model.close_with(1);
  for (int i = 0; i < 3; ++i) model.ask(2);
  CHECK(starts_in(model) == 10);
  model.open();
}

TEST(who_would_wait_in_the_room_until_it_is_late_is_refused) {
  Attended model({.calls = 1}, 2, {}, hour_ns);
  model.plan().admit_by({.refuses_late = true});
  model.close_with(1);
  const RunPtr second = model.ask(2, due_in(hour_ns / 2 * 7));
  // Its call would end in three hours; a lane is free, which is of no use.
  const RunPtr third = model.ask(3, due_in(hour_ns / 2 * 5));
  CHECK(!second->done() && third->outcome() == Outcome::refused);
  CHECK(third->refused_by_ns() > hour_ns / 3);
  CHECK(!model.ask(4, due_in(10 * hour_ns))->done());
  model.open();
  CHECK(second->outcome() == Outcome::ok);
}

TEST(who_would_wait_in_the_room_for_longer_than_it_may_is_refused) {
  Attended model({.calls = 1}, 2, {}, hour_ns);
  model.plan().admit_by({.max_wait_ns = hour_ns / 2 * 3});
  model.close_with(1);
  CHECK(!model.ask(2)->done());
  CHECK(model.ask(3)->outcome() == Outcome::refused);
  model.open();
}

TEST(nobody_is_refused_for_a_delay_that_its_deadline_ends) {
  // It waits a quarter of what it has to spare for others that do not come, and is in time.
  CHECK(in_some_time([&](std::int64_t ns) {
    Attended model({.delay_ns = hour_ns}, lanes, takes(4 * ms, ms), 5 * ms);
    model.plan().admit_by({.refuses_late = true});
    const RunPtr run = model.ask(1, due_in(ns));
    model.open();
    return run->outcome() == Outcome::ok;
  }));
}

}  // namespace room_forecast_tests
