// When a run that came now would be let out of its room: the part of WaitingRoom that says so.
#include <algorithm>
#include <functional>
#include <mutex>

#include "scheduler/plan.hpp"
#include "scheduler/run.hpp"
#include "scheduler/waiting_room.hpp"

namespace engine {

namespace {

/// Whether it has ended where it waits by then.
bool is_gone(const Waiting& one, std::int64_t at_ns) {
  const std::int64_t deadline_ns = one.run == nullptr ? 0 : one.run->deadline_ns();
  return one.expires_ns <= at_ns || (deadline_ns != 0 && deadline_ns <= at_ns);
}

/// Takes the next call, which begins at `begins_ns`, off the front of those that wait, of which
/// `first` is the first; returns how long it takes.
std::int64_t take_call(const QueueRules& rules, const std::vector<Waiting>& ahead,
                       std::size_t& first, std::int64_t begins_ns) {
  while (first + 1 < ahead.size() && is_gone(ahead[first], begins_ns)) ++first;
  NextCall call(rules, ahead[first]);
  std::vector<std::size_t> places;
  for (std::size_t i = first; i < ahead.size(); ++i) {
    if (is_gone(ahead[i], begins_ns)) continue;
    if (!call.take(ahead[i])) break;
    places.push_back(i);
  }
  const std::size_t count = std::min(call.count(), places.size());
  first = (count == 0 ? first : places[count - 1]) + 1;
  return call.takes_ns();
}

}  // namespace

/// Copies of those that go before who enters a level now: who was delayed there goes behind.
std::vector<Waiting> WaitingRoom::ahead_of(std::size_t place) const {
  std::vector<Waiting> ahead;
  for (std::size_t i = 0; i <= place; ++i) {
    ahead.insert(ahead.end(), levels_[i].in_time.begin(), levels_[i].in_time.end());
    if (i < place) ahead.insert(ahead.end(), levels_[i].delayed.begin(), levels_[i].delayed.end());
  }
  return ahead;
}

Outlook WaitingRoom::forecast(const Plan& plan, const std::optional<int>& priority,
                              std::int64_t now_ns) {
  const Stacking* const stacking = plan.stacking();
  // As few rows as may be: where that is wrong, nobody is refused for it.
  const std::uint32_t rows = stacking == nullptr ? 0 : stacking->least_rows();
  const std::lock_guard lock(mutex_);  // until the end: runs that wait are looked at
  std::vector<Waiting> ahead = ahead_of(level_of(priority));
  ahead.push_back({.plan = &plan, .rows = rows});
  std::vector<std::int64_t> calls;  // when each is over: a heap, whose first is the soonest
  for (const auto& [number, call] : calls_) calls.push_back(std::max(call.ends_ns, now_ns));
  if (calls.size() < most_calls(plan))  // of those that are free no more count than have calls
    calls.resize(std::min(most_calls(plan), calls.size() + ahead.size()), now_ns);
  std::ranges::make_heap(calls, std::greater{});
  for (std::size_t first = 0;;) {
    std::ranges::pop_heap(calls, std::greater{});
    const std::int64_t begins_ns = calls.back();
    calls.back() += take_call(rules_, ahead, first, begins_ns);
    if (first == ahead.size()) return {.start_ns = begins_ns, .end_ns = calls.back()};
    std::ranges::push_heap(calls, std::greater{});
  }
}

}  // namespace engine
