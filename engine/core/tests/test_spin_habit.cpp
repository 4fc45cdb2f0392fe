#include "scheduler/spin_habit.hpp"

#include "fixtures.hpp"
#include "test.hpp"

namespace spin_habit_tests {

using namespace engine;
using namespace engine::test;

TEST(spinning_pays_until_several_waits_in_a_row_outlast_it) {
  SpinHabit habit;
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i < SpinHabit::patience; ++i) habit.note(1'001, 1'000);
    CHECK(habit.pays());
    habit.note(1'000, 1'000);
    for (int i = 1; i < SpinHabit::patience; ++i) habit.note(1'001, 1'000);
    CHECK(habit.pays());
    for (int i = 0; i < 2; ++i) habit.note(1'000'000, 1'000);
    CHECK(!habit.pays());
    // One wait that would have ended meanwhile.
    habit.note(0, 1'000);
    CHECK(habit.pays());
  }
}

TEST(callers_learn_how_long_their_waits_are) {
  for (const bool waits_are_long : {true, false}) {
    MachineParams params = machine_of({cpu(lanes)});
    params.spin_ns = waits_are_long ? 1 : 3'600'000'000'000;
    MachineOwner machine(params);
    PlanBuilder builder(machine.get());
    builder.add_node({.name = "only", .kernel = call([] {
                                        for (int i = 0; i < 2'000; ++i) cpu_relax();
                                      })});
    const PlanPtr plan = builder.build();
    const auto ask = [&] { machine->submit(*plan, {}, {})->wait(0, false); };
    for (int i = 0; i < 2 * SpinHabit::patience; ++i) ask();
    // A run may have ended before anybody waited.
    while (waits_are_long && plan->waits().pays()) ask();
    CHECK(plan->waits().pays() == !waits_are_long);
  }
}

}  // namespace spin_habit_tests
