#include "replacing.hpp"

#include <algorithm>
#include <limits>

namespace placement {

namespace {

constexpr Index least_tasks = 3;
constexpr Index most_tasks = 30;

/// By how much an end may be thought later than it is, as a share of the time since the window's
/// beginning: so that the next window is not the same.
constexpr double noise = 0.3;

double copy_ns(const Link& link, std::int64_t size_bytes) {
  const double held = static_cast<double>(size_bytes) * 1e9 / link.bytes_per_s;
  return static_cast<double>(link.latency_ns) + static_cast<double>(link.occupancy_ns) + held;
}

}  // namespace

Replacing::Replacing(const Problem& problem, const Candidates& candidates)
    : problem_(problem),
      candidates_(candidates),
      is_in_(at(problem.task_count())),
      start_ns_(is_in_.size()),
      end_ns_(is_in_.size()),
      free_ns_(at(problem.device_count())) {}

void Replacing::propose(Replay& replay, Random& random) {
  const Index count = least_tasks + random.below(most_tasks - least_tasks);
  window_.clear();
  if (random.chance(0.5))
    take_by_rank(replay, random, count);
  else
    take_by_graph(random, count);
  std::ranges::sort(window_, {}, [&](Index task) { return replay.rank(task); });
  find_free(replay);
  for (const Index task : window_) put(replay, random, task);
  for (const Index task : window_) is_in_[at(task)] = 0;
  std::ranges::stable_sort(window_, {}, [&](Index task) { return start_ns_[at(task)]; });
  replay.line_up(window_);
}

void Replacing::take_by_rank(const Replay& replay, Random& random, Index count) {
  const Index first = random.below(problem_.task_count());
  const Index end = std::min(first + count, problem_.task_count());
  for (Index rank = first; rank < end; ++rank) add(replay.task_at(rank));
}

/// Tasks around one, the nearest along tensors first.
void Replacing::take_by_graph(Random& random, Index count) {
  add(random.below(problem_.task_count()));
  for (std::size_t place = 0; place < window_.size(); ++place) {
    const Index task = window_[place];
    const auto is_full = [&] { return window_.size() >= at(count); };
    for (const Index tensor : problem_.inputs_of(task))
      if (!is_full() && problem_.tensor(tensor).producer != nobody)
        add(problem_.tensor(tensor).producer);
    for (const Index tensor : problem_.outputs_of(task))
      for (const Index reader : problem_.consumers_of(tensor)) {
        if (is_full()) break;
        add(reader);
      }
  }
}

void Replacing::add(Index task) {
  if (is_in_[at(task)] != 0) return;
  is_in_[at(task)] = 1;
  window_.push_back(task);
}

/// From when on each device is the window's: the first start of one that was there. Tasks count as
/// they are until they are put.
void Replacing::find_free(const Replay& replay) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  std::ranges::fill(free_ns_, unknown);
  first_ns_ = unknown;
  for (const Index task : window_) {
    const auto start = static_cast<double>(replay.start_ns(task));
    double& free = free_ns_[at(problem_.home(replay.device(task)))];
    free = std::min(free, start);
    first_ns_ = std::min(first_ns_, start);
    end_ns_[at(task)] = static_cast<double>(replay.end_ns(task));
  }
  for (double& free : free_ns_)
    if (free == unknown) free = first_ns_;
}

void Replacing::put(Replay& replay, Random& random, Index task) {
  double best = std::numeric_limits<double>::infinity();
  Index best_device = replay.device(task);
  for (const Index device : candidates_.devices(task)) {
    const double ready = ready_ns(replay, task, device);
    const double start = std::max(ready, free_ns_[at(problem_.home(device))]);
    const double end = start + static_cast<double>(problem_.service_ns(task, device));
    const double seen = (end - first_ns_) * (1 + noise * random.unit());
    if (seen >= best) continue;
    best = seen;
    best_device = device;
    start_ns_[at(task)] = start;
    end_ns_[at(task)] = end;
  }
  const double lanes = static_cast<double>(problem_.device(best_device).lanes) /
                       static_cast<double>(problem_.width(task, best_device));
  const double takes = end_ns_[at(task)] - start_ns_[at(task)];
  free_ns_[at(problem_.home(best_device))] = start_ns_[at(task)] + takes / lanes;
  replay.place(task, best_device);
}

/// When its inputs are there, as far as that is known.
double Replacing::ready_ns(const Replay& replay, Index task, Index device) const {
  const Index here = problem_.device(device).memory;
  double ready = 0;
  for (const Index index : problem_.inputs_of(task)) {
    const Problem::Tensor& tensor = problem_.tensor(index);
    Index home = problem_.device(0).memory;
    double there = 0;
    if (const Index maker = tensor.producer; maker != nobody) {
      home = problem_.device(replay.device(maker)).memory;
      there =
          is_in_[at(maker)] != 0 ? end_ns_[at(maker)] : static_cast<double>(replay.end_ns(maker));
    }
    if (home != here && tensor.size_bytes > 0)
      there += copy_ns(problem_.link(problem_.link_between(home, here)), tensor.size_bytes);
    ready = std::max(ready, there);
  }
  return ready;
}

}  // namespace placement
