#include "parts.hpp"

#include <algorithm>

namespace placement {

namespace {

/// The last task that reads what a task makes; nobody if none does.
Index last_reader(const Problem& problem, Index task) {
  Index last = nobody;
  for (const Index tensor : problem.outputs_of(task))
    for (const Index reader : problem.consumers_of(tensor)) last = std::max(last, reader);
  return last;
}

bool waits_for_a_task(const Problem& problem, Index task) {
  return std::ranges::any_of(problem.inputs_of(task), [&](Index tensor) {
    return problem.tensor(tensor).producer != nobody;
  });
}

}  // namespace

Parts::Parts(const Problem& problem) : part_of(at(problem.task_count())) {
  // In a topological order, all before a task leads to it if no edge passes it and nothing before
  // it leads nowhere; all after it comes from it if nothing after it begins by itself.
  const Index count = problem.task_count();
  Index last_source = 0;
  for (Index task = 0; task < count; ++task)
    if (!waits_for_a_task(problem, task)) last_source = task;
  Index reached = 0;  // by what comes before
  bool leads_on = true;
  for (Index task = 0; task < count; ++task) {
    part_of[at(task)] = static_cast<Index>(closing.size());
    const Index last = last_reader(problem, task);
    if (leads_on && task >= last_source && reached <= task && task + 1 < count)
      closing.push_back(task);
    reached = std::max(reached, last);
    leads_on = leads_on && last != nobody;
  }
}

bool Parts::closes(Index task) const noexcept {
  const std::size_t part = at(part_of[at(task)]);
  return part < closing.size() && closing[part] == task;
}

std::vector<Ns> lengths_ns(const Parts& parts, const Schedule& schedule, Ns makespan_ns) {
  std::vector<Ns> lengths;
  Ns before_ns = 0;
  for (const Index task : parts.closing) {
    lengths.push_back(schedule.end_ns[at(task)] - before_ns);
    before_ns = schedule.end_ns[at(task)];
  }
  lengths.push_back(makespan_ns - before_ns);
  return lengths;
}

}  // namespace placement
