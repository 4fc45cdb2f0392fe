#include <memory>

#include "fixtures.hpp"
#include "frontend/route.hpp"
#include "scheduler/asked_models.hpp"
#include "test.hpp"

using namespace engine;
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
