#include "policy_bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "comm_sd.hpp"
#include "list_schedule.hpp"
#include "search.hpp"
#include "tables.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace placement {

namespace {

using Reals = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using RealColumn = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Numbers2 = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Choice choice_of(const std::string& name) {
  if (name == "least") return Choice::least;
  if (name == "fastest") return Choice::fastest;
  if (name == "readers") return Choice::readers;
  throw std::invalid_argument("choice must be least, fastest or readers, got '" + name + "'");
}

Column column(std::vector<std::int64_t> numbers) {
  const std::size_t count = numbers.size();
  return array<Column>(std::move(numbers), count);
}

RealColumn mean_ranks(const Evaluator& evaluator) {
  std::vector<double> ranks = mean_upward_ranks(evaluator.problem());
  const std::size_t count = ranks.size();
  return array<RealColumn>(std::move(ranks), count);
}

Column ranks_of(const Evaluator& evaluator, const Numbers& device_of) {
  return column(upward_ranks_ns(evaluator.problem(), {device_of.data(), device_of.size()}));
}

/// A number for each task and device.
Table by_device(const Problem& problem, std::vector<Ns> table) {
  const auto devices = static_cast<std::size_t>(problem.device_count());
  return array<Table>(std::move(table), static_cast<std::size_t>(problem.task_count()), devices);
}

std::tuple<Table, RealColumn, Table> hoft_tables(const Evaluator& evaluator) {
  const Problem& problem = evaluator.problem();
  std::vector<Ns> finishes = optimistic_finishes_ns(problem, services_ns(problem));
  std::vector<double> ranks = ratio_ranks(problem, finishes);
  std::vector<Ns> readers = readers_ns(problem, finishes);
  const std::size_t count = ranks.size();
  return {by_device(problem, std::move(finishes)), array<RealColumn>(std::move(ranks), count),
          by_device(problem, std::move(readers))};
}

std::tuple<Table, Table> least_times_of(const Evaluator& evaluator) {
  const Problem& problem = evaluator.problem();
  LeastTimes least = least_times_ns(problem);
  return {by_device(problem, std::move(least.services_ns)),
          by_device(problem, std::move(least.works_ns))};
}

std::tuple<Table, Table> least_paths_of(const Evaluator& evaluator) {
  const Problem& problem = evaluator.problem();
  const std::vector<Ns> services = least_times_ns(problem).services_ns;
  return {by_device(problem, optimistic_finishes_ns(problem, services)),
          by_device(problem, optimistic_costs_ns(problem, services))};
}

std::tuple<Column, Column> list_schedule_of(const Evaluator& evaluator, const Reals& ranks,
                                            const Numbers2& ahead_ns, const std::string& choice,
                                            bool has_links, bool is_narrow) {
  const ListRules rules{{ranks.data(), ranks.size()},
                        {ahead_ns.data(), ahead_ns.size()},
                        choice_of(choice),
                        has_links,
                        is_narrow};
  ListSchedule found;
  {
    const nb::gil_scoped_release released;
    found = list_schedule(evaluator.problem(), rules);
  }
  return {column(std::move(found.device_of)), column(std::move(found.start_ns))};
}

std::vector<std::int64_t> copied(const Numbers& numbers) {
  return {numbers.data(), numbers.data() + numbers.size()};
}

std::tuple<Column, Column, Ns> search(Evaluator& evaluator,
                                      const std::vector<std::tuple<Numbers, Numbers>>& placements,
                                      std::int64_t descent, std::int64_t drift, std::uint64_t seed,
                                      std::int64_t annealing) {
  std::vector<Proposal> proposals;
  for (const auto& [device_of, priority] : placements)
    proposals.push_back({copied(device_of), copied(priority)});
  Plan found;
  {
    const nb::gil_scoped_release released;
    found = searched(evaluator, std::move(proposals), {drift, descent, annealing, seed});
  }
  return {column(std::move(found.device_of)), column(std::move(found.priority)), found.makespan_ns};
}

}  // namespace

void bind_policies(nb::class_<Evaluator>& evaluator) {
  evaluator
      .def("mean_upward_ranks", &mean_ranks,
           "Way to the end of the query from each task, ns, in mean service and copy times.")
      .def("upward_ranks_ns", &ranks_of, "device_of"_a,
           R"(Longest time from each task's start to the end of the query, queueing left out.

ValueError names the task that cannot run where it was placed.)")
      .def(
          "services_ns",
          [](const Evaluator& self) {
            return by_device(self.problem(), services_ns(self.problem()));
          },
          "Service times by task and device; -1 where a task cannot run.")
      .def(
          "ways_home_ns",
          [](const Evaluator& self) {
            return by_device(self.problem(), ways_home_ns(self.problem()));
          },
          "How long outputs take to the host, by task and device; -1 where a task cannot run.")
      .def(
          "optimistic_costs_ns",
          [](const Evaluator& self) {
            const Problem& problem = self.problem();
            return by_device(problem, optimistic_costs_ns(problem, services_ns(problem)));
          },
          "Least time to the end of the query after each task, as ways_home_ns.")
      .def("least_times_ns", &least_times_of,
           R"(What bounds may count on of tasks, by task and device, as services_ns.

The least service and the least lane-nanoseconds of a task at any width, however lanes slow
each other.)")
      .def("least_paths_ns", &least_paths_of,
           R"(What bounds may count on of paths, by task and device, as services_ns.

By the least services, when a task can end at the earliest, and how much follows it.)")
      .def(
          "comm_sd",
          [](const Evaluator& self, const Numbers& default_device, Ns alpha_ns, int most_passes) {
            return column(comm_sd(self.problem(), {default_device.data(), default_device.size()},
                                  alpha_ns, most_passes));
          },
          "default_device"_a, "alpha_ns"_a, "most_passes"_a = 10,
          "Devices that Comm+SD chooses, by task; compare=\"default\" of placement/comm_sd.py.")
      .def("hoft_tables", &hoft_tables,
           R"(HOFT's optimistic finishes, ranks, and what readers need from each device.

The first and the last are in ns, by task and device, as ways_home_ns.)")
      .def("list_schedule", &list_schedule_of, "ranks"_a, "ahead_ns"_a, "choice"_a = "least",
           "has_links"_a = false, "is_narrow"_a = false,
           R"(Places and planned starts of a list schedule, by task.

Of tasks that are ready the highest rank is next. Which place it gets: with choice "least"
that with the least end plus ahead_ns (by task and device; below 0 bars it), with "fastest"
one of that where it ends first and the one that is fastest, with "readers" the one after
which its readers end first. has_links: copies over one link wait for each other, which goes
with the first two. is_narrow: each task has only its narrowest width.)")
      .def("search", &search, "placements"_a, "descent"_a, "drift"_a = 0, "seed"_a = 0,
           "annealing"_a = 0,
           R"(Devices, priorities and makespan of the best of placements, improved.

Placements are pairs of arrays, devices and priorities; parts of a query that run one after
another may come from several. Then so many evaluations of random changes, and so many of
changes of devices, of tasks and chains, one by one; at last so many small ones, annealed.)");
}

}  // namespace placement
