#include "candidates.hpp"

#include <algorithm>
#include <limits>

namespace placement {

namespace {

/// Least that a task can take on a device, however lanes slow each other. Doubles hold any sum.
double least_ns(const Problem& problem, Index task, Index device) {
  double factor = 1;
  for (const double slowdown : problem.device(device).slowdown) factor = std::min(factor, slowdown);
  return static_cast<double>(problem.service_ns(task, device)) * factor;
}

double fastest_ns(const Problem& problem, Index task) {
  double least = std::numeric_limits<double>::infinity();
  for (Index device = 0; device < problem.place_count(); ++device)
    if (problem.can_run(task, device)) least = std::min(least, least_ns(problem, task, device));
  return least;
}

/// The longest paths up to each task and from it on, without its own time.
struct Paths {
  explicit Paths(const Problem& problem) : before(at(problem.task_count())), after(before.size()) {
    for (Index task = 0; task < problem.task_count(); ++task) {
      const double end = before[at(task)] + fastest_ns(problem, task);
      for (const Index tensor : problem.outputs_of(task))
        for (const Index reader : problem.consumers_of(tensor))
          before[at(reader)] = std::max(before[at(reader)], end);
    }
    for (Index task = problem.task_count() - 1; task >= 0; --task)
      for (const Index tensor : problem.outputs_of(task))
        for (const Index reader : problem.consumers_of(tensor))
          after[at(task)] =
              std::max(after[at(task)], fastest_ns(problem, reader) + after[at(reader)]);
  }
  std::vector<double> before, after;
};

}  // namespace

Candidates::Candidates(const Problem& problem, Ns most_ns) {
  const Paths paths(problem);
  std::vector<Index> devices;
  for (Index task = 0; task < problem.task_count(); ++task) {
    const double others = paths.before[at(task)] + paths.after[at(task)];
    devices.clear();
    for (Index device = 0; device < problem.place_count(); ++device)
      if (problem.can_run(task, device) &&
          others + least_ns(problem, task, device) <= static_cast<double>(most_ns))
        devices.push_back(device);
    devices_.add(devices);
    if (devices.size() > 1) movable_.push_back(task);
  }
}

bool Candidates::allows(Index task, Index device) const noexcept {
  return std::ranges::find(devices(task), device) != devices(task).end();
}

}  // namespace placement
