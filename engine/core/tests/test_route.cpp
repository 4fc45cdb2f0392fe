#include <memory>

#include "fixtures.hpp"
#include "frontend/route.hpp"
#include "scheduler/asked_models.hpp"
#include "test.hpp"

namespace route_tests {

using namespace engine;
using namespace engine::test;
using frontend::PlanPtr;
using frontend::Route;

TEST(others_count_for_a_while) {
  constexpr std::int64_t second = 1'000'000'000;
  AskedModels models;
  CHECK(!models.asked(1, 10 * second, 0));
  CHECK(!models.asked(1, 11 * second, 0));
  CHECK(models.asked(2, 11 * second + 1, 0));
  CHECK(models.asked(1, 11 * second + 2, 0));
  CHECK(!models.asked(1, 13 * second, 0));
}

TEST(processes_that_come_are_news_once) {
  AskedModels models;
  static_cast<void>(models.asked(1, 5, 0));
  CHECK(!models.has_news() && !models.take_news());
  static_cast<void>(models.asked(1, 6, 1));
  CHECK(models.has_news() && models.take_news() && !models.has_news() && !models.take_news());
  static_cast<void>(models.asked(1, 7, 0));
  CHECK(models.has_news() && !models.take_news());  // they went: nothing to prepare
  static_cast<void>(models.asked(1, 8, 1));
  CHECK(models.take_news());
}

TEST(plans_for_while_queries_overlap_are_taken_in_turn) {
  const MachineOwner machine(machine_of({cpu(1)}));
  const auto planned = [&] {
    PlanBuilder builder(machine.get());
    builder.add_node({.name = "n", .kernel = call([] {}), .service_ns = 0});
    return builder.build();
  };
  const PlanPtr own = planned(), first = planned(), second = planned();
  Route route;
  route.lead(own, {first, second}, {.always = true});
  CHECK(route.take(0).plan == first);
  CHECK(route.take(0).plan == second);
  CHECK(route.take(0).plan == first);
  route.lead(own, {first, second}, {.found = 1});
  CHECK(route.take(0).plan == own);
  route.lead(own, {}, {.always = true});
  CHECK(route.take(0).plan == nullptr);
}

}  // namespace route_tests
