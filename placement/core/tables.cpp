#include "tables.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace placement {

namespace {

double mean_copy_ns(const Problem& problem, std::int64_t size_bytes) {
  const Index count = problem.device_count();
  Ns sum_ns = 0;
  for (Index a = 0; a < count; ++a)
    for (Index b = 0; b < count; ++b) sum_ns = later(sum_ns, problem.copy_ns(a, b, size_bytes));
  return static_cast<double>(sum_ns) / (static_cast<double>(count) * count);
}

double mean_service_ns(const Problem& problem, Index task) {
  Ns sum_ns = 0;
  int known = 0;
  for (Index device = 0; device < problem.device_count(); ++device) {
    if (!problem.can_run(task, device)) continue;
    sum_ns = later(sum_ns, problem.service_ns(task, device));
    ++known;
  }
  return static_cast<double>(sum_ns) / known;
}

Ns way_home_ns(const Problem& problem, Index task, Index device) {
  Ns longest_ns = 0;
  for (const Index index : problem.outputs_of(task)) {
    const Problem::Tensor& tensor = problem.tensor(index);
    if (tensor.is_output)
      longest_ns = std::max(longest_ns, problem.copy_ns(device, 0, tensor.size_bytes));
  }
  return longest_ns;
}

/// A table, filled from the last task to the first, so that rows of successors are known.
template <typename Cost>
std::vector<Ns> table_of(const Problem& problem, const Cost& cost_ns) {
  const Index devices = problem.device_count();
  std::vector<Ns> table(at(problem.task_count()) * at(devices), cannot_run_ns);
  for (Index task = problem.task_count() - 1; task >= 0; --task)
    for (Index device = 0; device < devices; ++device)
      if (problem.can_run(task, device))
        table[at(task) * at(devices) + at(device)] = cost_ns(table, task, device);
  return table;
}

std::span<const Ns> row(const Problem& problem, const std::vector<Ns>& table, Index task) {
  const std::size_t devices = at(problem.device_count());
  return std::span(table).subspan(at(task) * devices, devices);
}

/// Least time until all after a reader of a tensor has ended, that reader included.
Ns optimistic_ns(const Problem& problem, const std::vector<Ns>& services_ns,
                 const std::vector<Ns>& table, Index reader, Index source,
                 std::int64_t size_bytes) {
  Ns least_ns = std::numeric_limits<Ns>::max();
  const auto services = row(problem, services_ns, reader), after_ns = row(problem, table, reader);
  for (Index device = 0; device < problem.device_count(); ++device) {
    if (services[at(device)] < 0) continue;
    const Ns there_ns = problem.copy_ns(source, device, size_bytes);
    least_ns =
        std::min(least_ns, later(later(there_ns, services[at(device)]), after_ns[at(device)]));
  }
  if (least_ns == std::numeric_limits<Ns>::max())
    throw std::invalid_argument("task '" + problem.name(reader) + "' can run on no device");
  return least_ns;
}

/// Least service time of a task at a place, with as many other busy lanes as that is least with.
Ns least_slowed_ns(const Problem& problem, Index task, Index place) {
  const Device& device = problem.device(place);
  const std::int64_t width = problem.width(task, place);
  const auto known = static_cast<std::int64_t>(device.slowdown.size());
  Ns least_ns = problem.slowed_ns(task, place, width);
  for (std::int64_t busy = width + 1; busy <= std::min(device.lanes, known); ++busy)
    least_ns = std::min(least_ns, problem.slowed_ns(task, place, busy));
  return least_ns;
}

/// Where a task could end first; the host if it can run nowhere.
Index first_device(std::span<const Ns> finishes_ns) {
  Index first = 0;
  for (Index device = 1; at(device) < finishes_ns.size(); ++device) {
    const Ns ns = finishes_ns[at(device)], first_ns = finishes_ns[at(first)];
    if (ns >= 0 && (first_ns < 0 || ns < first_ns)) first = device;
  }
  return first;
}

/// When a tensor could be in a device's memory at the earliest.
Ns there_ns(const Problem& problem, const std::vector<Ns>& finishes_ns,
            const Problem::Tensor& tensor, Index device) {
  if (tensor.producer == nobody) return problem.copy_ns(0, device, tensor.size_bytes);
  const auto made_ns = row(problem, finishes_ns, tensor.producer);
  Ns least_ns = end_of_times_ns;
  for (Index source = 0; source < problem.device_count(); ++source)
    if (made_ns[at(source)] >= 0)
      least_ns = std::min(
          least_ns, later(made_ns[at(source)], problem.copy_ns(source, device, tensor.size_bytes)));
  return least_ns;
}

}  // namespace

std::vector<Ns> services_ns(const Problem& problem) {
  return table_of(problem, [&](const std::vector<Ns>&, Index task, Index device) {
    return problem.service_ns(task, device);
  });
}

LeastTimes least_times_ns(const Problem& problem) {
  const std::size_t devices = at(problem.device_count());
  LeastTimes least;
  least.services_ns.assign(at(problem.task_count()) * devices, cannot_run_ns);
  least.works_ns = least.services_ns;
  const auto lower = [](Ns& least_ns, Ns ns) {
    if (least_ns < 0 || ns < least_ns) least_ns = ns;
  };
  for (Index task = 0; task < problem.task_count(); ++task)
    for (Index place = 0; place < problem.place_count(); ++place) {
      if (!problem.can_run(task, place)) continue;
      const std::size_t cell = at(task) * devices + at(problem.home(place));
      const Ns ns = least_slowed_ns(problem, task, place);
      lower(least.services_ns[cell], ns);
      lower(least.works_ns[cell], ns * problem.width(task, place));
    }
  return least;
}

std::vector<double> mean_upward_ranks(const Problem& problem) {
  std::vector<double> ranks(at(problem.task_count()));
  for (Index task = problem.task_count() - 1; task >= 0; --task) {
    double after = 0;
    for (const Index index : problem.outputs_of(task)) {
      double latest = 0;
      for (const Index reader : problem.consumers_of(index))
        latest = std::max(latest, ranks[at(reader)]);
      after = std::max(after, mean_copy_ns(problem, problem.tensor(index).size_bytes) + latest);
    }
    ranks[at(task)] = after + mean_service_ns(problem, task);
  }
  return ranks;
}

std::vector<Ns> upward_ranks_ns(const Problem& problem, std::span<const std::int64_t> device_of) {
  const Index count = problem.task_count();
  if (device_of.size() != at(count))
    throw std::invalid_argument("placement has " + std::to_string(device_of.size()) +
                                " devices for " + std::to_string(count) + " tasks");
  for (Index task = 0; task < count; ++task) {
    const std::int64_t device = device_of[at(task)];
    if (device < 0 || device >= problem.place_count() ||
        !problem.can_run(task, static_cast<Index>(device)))
      throw std::invalid_argument("task '" + problem.name(task) + "' cannot run on device " +
                                  std::to_string(device));
  }
  const auto device = [&](Index task) { return static_cast<Index>(device_of[at(task)]); };
  std::vector<Ns> ranks(at(count));
  for (Index task = count - 1; task >= 0; --task) {
    const Index here = device(task);
    Ns after_ns = way_home_ns(problem, task, here);
    for (const Index index : problem.outputs_of(task)) {
      const std::int64_t size_bytes = problem.tensor(index).size_bytes;
      for (const Index reader : problem.consumers_of(index)) {
        const Ns copy_ns = problem.copy_ns(here, device(reader), size_bytes);
        after_ns = std::max(after_ns, later(copy_ns, ranks[at(reader)]));
      }
    }
    ranks[at(task)] = later(after_ns, problem.service_ns(task, here));
  }
  return ranks;
}

std::vector<Ns> ways_home_ns(const Problem& problem) {
  return table_of(problem, [&](const std::vector<Ns>&, Index task, Index device) {
    return way_home_ns(problem, task, device);
  });
}

std::vector<Ns> optimistic_costs_ns(const Problem& problem, const std::vector<Ns>& services_ns) {
  return table_of(problem, [&](const std::vector<Ns>& table, Index task, Index device) {
    Ns latest_ns = way_home_ns(problem, task, device);
    for (const Index index : problem.outputs_of(task)) {
      const std::int64_t size_bytes = problem.tensor(index).size_bytes;
      for (const Index reader : problem.consumers_of(index)) {
        const Ns ns = optimistic_ns(problem, services_ns, table, reader, device, size_bytes);
        latest_ns = std::max(latest_ns, ns);
      }
    }
    return latest_ns;
  });
}

std::vector<Ns> optimistic_finishes_ns(const Problem& problem, const std::vector<Ns>& services_ns) {
  const std::size_t devices = at(problem.device_count());
  std::vector<Ns> finishes(at(problem.task_count()) * devices, cannot_run_ns);
  for (Index task = 0; task < problem.task_count(); ++task)
    for (Index device = 0; device < problem.device_count(); ++device) {
      const Ns service_ns = row(problem, services_ns, task)[at(device)];
      if (service_ns < 0) continue;
      Ns ready_ns = 0;
      for (const Index index : problem.inputs_of(task))
        ready_ns = std::max(ready_ns, there_ns(problem, finishes, problem.tensor(index), device));
      finishes[at(task) * devices + at(device)] = later(ready_ns, service_ns);
    }
  return finishes;
}

std::vector<double> ratio_ranks(const Problem& problem, const std::vector<Ns>& finishes_ns) {
  std::vector<double> ranks(at(problem.task_count()));
  for (Index task = problem.task_count() - 1; task >= 0; --task) {
    Ns best_ns = std::numeric_limits<Ns>::max(), worst_ns = 1;
    for (const Ns ns : row(problem, finishes_ns, task)) {
      if (ns < 0) continue;
      best_ns = std::min(best_ns, ns);
      worst_ns = std::max(worst_ns, ns);
    }
    double after = 0;
    for (const Index index : problem.outputs_of(task))
      for (const Index reader : problem.consumers_of(index))
        after = std::max(after, ranks[at(reader)]);
    ranks[at(task)] =
        after + static_cast<double>(worst_ns) / static_cast<double>(std::max<Ns>(1, best_ns));
  }
  return ranks;
}

std::vector<Ns> readers_ns(const Problem& problem, const std::vector<Ns>& finishes_ns) {
  std::vector<Index> expected;
  for (Index task = 0; task < problem.task_count(); ++task)
    expected.push_back(first_device(row(problem, finishes_ns, task)));
  return table_of(problem, [&](const std::vector<Ns>&, Index task, Index device) {
    Ns longest_ns = way_home_ns(problem, task, device);
    for (const Index index : problem.outputs_of(task))
      for (const Index reader : problem.consumers_of(index)) {
        const Index there = expected[at(reader)];
        const Ns copy_ns = problem.copy_ns(device, there, problem.tensor(index).size_bytes);
        longest_ns = std::max(longest_ns, later(copy_ns, problem.service_ns(reader, there)));
      }
    return longest_ns;
  });
}

}  // namespace placement
