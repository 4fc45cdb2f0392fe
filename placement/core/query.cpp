#include "query.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace placement {

namespace {

[[noreturn]] void throw_same_priority() {
  throw std::invalid_argument("placement: two tasks have the same priority");
}

}  // namespace

Query::Query(const Problem& given) : problem(given) {
  const std::size_t count = at(problem.task_count());
  for (auto* indices : {&device_of, &home_of, &memory_of, &rank_of, &task_at, &missing})
    indices->resize(count);
  for (auto* times : {&service_of, &ready_ns, &start_ns, &end_ns, &launched_ns})
    times->resize(count);
  is_running.resize(count);
}

void Query::begin(const Placed& placed) {
  const std::size_t count = missing.size();
  if (placed.device_of.size() != count || placed.priority.size() != count)
    throw std::invalid_argument("placement has " + std::to_string(placed.device_of.size()) +
                                " devices and " + std::to_string(placed.priority.size()) +
                                " priorities for " + std::to_string(count) + " tasks");
  is_fifo = placed.is_fifo;
  take_devices(placed.device_of);
  rank(placed.priority);
  holds.take(problem, placed.holds);
  rewind();
}

void Query::rewind() {
  events.clear();
  std::ranges::copy(problem.input_counts(), missing.begin());
  if (!holds.empty()) {
    for (Index task = 0; task < problem.task_count(); ++task)
      missing[at(task)] += static_cast<Index>(holds.inputs_of(task).size());
    holds.rewind();
  }
  if (!problem.has_streams()) return;
  std::ranges::fill(ready_ns, 0);
  std::ranges::fill(launched_ns, -1);
  std::ranges::fill(is_running, 0);
}

void Query::take_devices(std::span<const std::int64_t> devices) {
  for (Index task = 0; task < problem.task_count(); ++task) {
    const std::int64_t device = devices[at(task)];
    if (device < 0 || device >= problem.place_count())
      throw std::invalid_argument("task '" + problem.name(task) + "': device " +
                                  std::to_string(device) + " is unknown");
    const auto here = static_cast<Index>(device);
    if (!problem.can_run(task, here))
      throw std::invalid_argument("task '" + problem.name(task) + "' cannot run on device '" +
                                  problem.device(here).name + "'");
    put(task, here);
  }
}

void Query::rank(std::span<const std::int64_t> priority) {
  if (are_ranks(priority)) return;
  std::iota(task_at.begin(), task_at.end(), 0);
  const auto urgency = [&](Index task) { return priority[at(task)]; };
  std::ranges::sort(task_at, {}, urgency);
  if (std::ranges::adjacent_find(task_at, {}, urgency) != task_at.end()) throw_same_priority();
  for (Index place = 0; place < problem.task_count(); ++place)
    rank_of[at(task_at[at(place)])] = place;
}

bool Query::are_ranks(std::span<const std::int64_t> priority) {
  std::ranges::fill(task_at, nobody);
  for (Index task = 0; task < problem.task_count(); ++task) {
    const std::int64_t place = priority[at(task)];
    if (place < 0 || place >= problem.task_count()) return false;
    rank_of[at(task)] = static_cast<Index>(place);
    Index& holder = task_at[static_cast<std::size_t>(place)];
    if (holder != nobody) throw_same_priority();
    holder = task;
  }
  return true;
}

}  // namespace placement
