// What lies before and after each task: what list schedules rank tasks and compare devices by.
//
// Tables have a number for each task and device, in the order of tasks. A number below 0 means that
// the task cannot run there. Of tasks with several widths they know the narrowest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem.hpp"

namespace placement {

/// Service times.
[[nodiscard]] std::vector<Ns> services_ns(const Problem& problem);

/// The least that each task takes at any width, however lanes slow each other, and the least
/// lane-nanoseconds of it: what bounds may count on, as placement/widths.py says.
struct LeastTimes {
  std::vector<Ns> services_ns, works_ns;
};
[[nodiscard]] LeastTimes least_times_ns(const Problem& problem);

/// Way to the end of the query in mean service and mean copy times; HEFT's equation 7.
[[nodiscard]] std::vector<double> mean_upward_ranks(const Problem& problem);

/// Longest time from each task's start to the end of the query on the devices that were chosen,
/// queueing left out. std::invalid_argument: not a device for each task, or one that cannot run it.
[[nodiscard]] std::vector<Ns> upward_ranks_ns(const Problem& problem,
                                              std::span<const std::int64_t> device_of);

/// How long outputs of the graph take from each device to the host.
[[nodiscard]] std::vector<Ns> ways_home_ns(const Problem& problem);

/// Least time from the end of a task to the end of the query if each later task has a lane of its
/// best device to itself, outputs brought home; PEFT's equation 3, for services such as
/// services_ns.
[[nodiscard]] std::vector<Ns> optimistic_costs_ns(const Problem& problem,
                                                  const std::vector<Ns>& services_ns);

/// When each task could end on each device if all before it had lanes of their best devices to
/// themselves; HOFT's table, for services such as services_ns.
[[nodiscard]] std::vector<Ns> optimistic_finishes_ns(const Problem& problem,
                                                     const std::vector<Ns>& services_ns);

/// Way to the end of the query in ratios of the worst to the best of a task's finishes, times of 0
/// taken for 1 ns; HOFT's ranks.
[[nodiscard]] std::vector<double> ratio_ranks(const Problem& problem,
                                              const std::vector<Ns>& finishes_ns);

/// Longest copy and service of any reader of a task on each device, each where its own finish is
/// first; the way home of outputs counts as one.
[[nodiscard]] std::vector<Ns> readers_ns(const Problem& problem,
                                         const std::vector<Ns>& finishes_ns);

}  // namespace placement
