// What the front end counts and remembers of queries that have ended.
#include <limits>
#include <memory>
#include <string>

#include "frontend/histogram.hpp"
#include "frontend/recent_queries.hpp"
#include "frontend/trouble.hpp"
#include "test.hpp"

namespace observed_tests {

using engine::frontend::FrontTimes;
using engine::frontend::Histogram;
using engine::frontend::is_sampled;
using engine::frontend::ModelName;
using engine::frontend::RecentQueries;
using engine::frontend::SeenQuery;
using engine::frontend::Status;
using engine::frontend::Trouble;
using engine::frontend::trouble_of;
using engine::frontend::TroubleCounts;

namespace {

const std::string recorded = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

SeenQuery query(const std::string& id, const std::string& trace_parent = {}) {
  static const auto model = std::make_shared<ModelName>();
  return {.model = model, .id = id, .trace_parent = trace_parent};
}

}  // namespace

TEST(a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed) {
  for (std::size_t i = 0; i < Histogram::bounds; ++i) {
    const std::int64_t bound_ns = Histogram::bound_us(i) * 1000;
    CHECK(Histogram::bucket_of(bound_ns) == i && Histogram::bucket_of(bound_ns + 1) == i + 1);
    CHECK(i == 0 || Histogram::bound_us(i - 1) < Histogram::bound_us(i));
  }
  CHECK(Histogram::bucket_of(-1) == 0 && Histogram::bucket_of(0) == 0);
  CHECK(Histogram::bucket_of(std::numeric_limits<std::int64_t>::max() / 2) == Histogram::bounds);
}

TEST(a_wait_that_is_not_known_is_as_long_as_the_last_one) {
  FrontTimes times;
  times.add(100'000, 90'000, 40'000);
  times.add(100'000, 90'000, -1);
  CHECK(times.whole.total_ns() == 200'000 && times.queue.total_ns() == 80'000);
  CHECK(times.compute.total_ns() == 100'000);
}

TEST(the_last_queries_are_remembered_in_their_order) {
  RecentQueries recent;
  constexpr std::size_t more = 5;
  for (std::size_t i = 0; i < RecentQueries::most + more; ++i) recent.add(query(std::to_string(i)));
  const auto all = recent.all();
  CHECK(all.size() == RecentQueries::most);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].id == std::to_string(i + more));
}

TEST(queries_are_kept_for_who_takes_them_one_of_so_many_and_those_that_are_recorded) {
  RecentQueries recent;
  recent.add(query("nobody asked for it", recorded));
  CHECK(recent.take_sampled().empty());
  recent.sample(3, false);
  for (int i = 0; i < 6; ++i) recent.add(query("", recorded));
  CHECK(recent.take_sampled().size() == 2 && recent.take_sampled().empty());
  recent.sample(0, true);
  recent.add(query("not traced"));
  recent.add(query("traced", recorded));
  const auto kept = recent.take_sampled();
  CHECK(kept.size() == 1 && kept.front().id == "traced");
  for (std::size_t i = 0; i < RecentQueries::most + 1; ++i) recent.add(query("", recorded));
  CHECK(recent.take_sampled().size() == RecentQueries::most);
}

TEST(a_trace_parent_says_whether_its_trace_is_recorded) {
  std::string parent = recorded;
  CHECK(is_sampled(parent) && is_sampled(parent + "-what later versions add"));
  parent.back() = '0';
  CHECK(!is_sampled(parent));
  parent.back() = 'b';
  CHECK(is_sampled(parent));
  for (const char* none : {"", "01", "00-4bf92f3577b34da6a3ce929d0e0e4736-01"})
    CHECK(!is_sampled(none));
}

TEST(what_another_process_says_is_counted_as_the_same_trouble) {
  using engine::isolation::Refusal;
  CHECK(trouble_of(Status::resource_exhausted, Refusal::late) == Trouble::refused);
  CHECK(trouble_of(Status::resource_exhausted, Refusal::none) == Trouble::memory);
  CHECK(trouble_of(Status::unavailable, Refusal::queue) == Trouble::queue_full);
  CHECK(trouble_of(Status::unavailable, Refusal::none) == Trouble::shutdown);
  CHECK(trouble_of(Status::deadline_exceeded, Refusal::none) == Trouble::deadline);
  CHECK(trouble_of(Status::invalid_argument, Refusal::none) == Trouble::input);
  CHECK(trouble_of(Status::internal, Refusal::none) == Trouble::failed);
  TroubleCounts counts;
  counts.add(Trouble::failed);
  counts.add(Trouble::failed);
  CHECK(counts.counts()[static_cast<std::size_t>(Trouble::failed)] == 2);
  CHECK(counts.counts()[static_cast<std::size_t>(Trouble::late)] == 0);
}

}  // namespace observed_tests
