#include "chain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace placement {

namespace {

/// Temperatures of the beginning and the end, in times of the task in the middle.
constexpr double first_temperature = 0.3;
constexpr double last_temperature = 0.003;

/// How often a chain looks up from its changes, and after how many at the earliest: it plays the
/// whole query for it.
constexpr double stocktakings = 25;
constexpr std::int64_t changes_between = 50;

/// How many temperatures worse than the best a chain may be before it goes on from that.
constexpr double patience = 3;

/// The task in the middle, by time where it is fastest; tasks without any left out.
double middle_ns(const Problem& problem) {
  std::vector<Ns> times;
  for (Index task = 0; task < problem.task_count(); ++task) {
    Ns least_ns = end_of_times_ns;
    for (Index device = 0; device < problem.place_count(); ++device)
      if (problem.can_run(task, device))
        least_ns = std::min(least_ns, problem.service_ns(task, device));
    if (least_ns > 0) times.push_back(least_ns);
  }
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return static_cast<double>(*middle);
}

}  // namespace

Chain::Chain(const Problem& problem, const Constants& constants, const RankedPlacement& start,
             std::uint64_t seed, const Limits& limits, BestPlan& best)
    : problem_(problem),
      limits_(limits),
      best_(best),
      random_(seed),
      replay_(problem, start.placed()),
      moves_(problem, start.makespan_ns),
      room_(problem, constants),
      whole_(problem),
      scale_ns_(middle_ns(problem)) {}

void Chain::run(Ns target_ns, std::atomic<std::int64_t>& evaluations) {
  double next_stocktaking = 1 / stocktakings;
  std::int64_t last_stocktaking = 0;
  for (std::int64_t done = 0; best_.makespan_ns() > target_ns; ++done) {
    const double progress = limits_.progress(done);
    if (progress >= 1) return;
    const double temperature_ns =
        scale_ns_ * first_temperature * std::pow(last_temperature / first_temperature, progress);
    if (progress >= next_stocktaking && done - last_stocktaking >= changes_between) {
      take_stock(temperature_ns);
      next_stocktaking = progress + 1 / stocktakings;
      last_stocktaking = done;
    }
    try_change(temperature_ns);
    evaluations.fetch_add(1, std::memory_order_relaxed);  // a count, which orders nothing
  }
}

void Chain::try_change(double temperature_ns) {
  moves_.propose(replay_, random_);
  const double longer_ns = -temperature_ns * std::log(random_.unit());
  if (!replay_.is_changed()) return;
  const Ns limit_ns = replay_.makespan_ns() + static_cast<Ns>(longer_ns);
  if (replay_.evaluate(limit_ns) && has_room()) {
    replay_.keep();
    note_best();
  } else {
    replay_.undo();
  }
}

/// Goes on from the best plan if this one is far from it, and makes ranks those of the starts, so
/// that neighbours in the order are neighbours in time.
void Chain::take_stock(double temperature_ns) {
  const double behind_ns = static_cast<double>(replay_.makespan_ns() - best_.makespan_ns());
  if (behind_ns > patience * temperature_ns) replay_.reset(best_.plan().placed());
  const RankedPlacement before = plan();
  line_up();
  if (replay_.makespan_ns() > before.makespan_ns || !has_room())
    replay_.reset(before.placed());
  else
    note_best();
}

void Chain::line_up() {
  RankedPlacement found = plan();
  std::vector<Index> tasks(found.device_of.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  std::ranges::sort(
      tasks, {}, [&](Index task) { return std::pair(replay_.start_ns(task), replay_.rank(task)); });
  for (std::size_t place = 0; place < tasks.size(); ++place)
    found.priority[at(tasks[place])] = static_cast<std::int64_t>(place);
  replay_.reset(found.placed());
}

bool Chain::has_room() {
  if (!room_.is_limited()) return true;
  whole_.run(plan().placed());
  return room_.holds(whole_);
}

void Chain::note_best() {
  if (replay_.makespan_ns() < best_.makespan_ns())
    best_.offer(replay_.makespan_ns(), replay_.devices(), replay_.ranks());
}

/// With what was changed.
RankedPlacement Chain::plan() const {
  const auto devices = replay_.devices();
  const auto ranks = replay_.ranks();
  return {{devices.begin(), devices.end()}, {ranks.begin(), ranks.end()}, replay_.makespan_ns()};
}

}  // namespace placement
