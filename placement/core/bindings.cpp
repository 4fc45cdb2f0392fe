// surplus.placement._evaluator: the evaluator for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "annealing_bindings.hpp"
#include "arrays.hpp"
#include "evaluator.hpp"
#include "policy_bindings.hpp"
#include "room_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace placement {

namespace {

using DeviceTuple = std::tuple<std::string, std::int64_t, Index, Ns, std::vector<double>>;
using LinkTuple = std::tuple<Index, Index, Ns, double, Ns, std::optional<std::int64_t>, bool>;
using TaskTuple = std::tuple<std::string, std::vector<std::optional<Ns>>, std::vector<std::int64_t>,
                             std::vector<Ns>>;
using TensorTuple = std::tuple<Index, std::vector<Index>, std::int64_t, bool>;

/// Structures of what Python hands over as tuples with the same fields in the same order.
template <typename Row, typename Tuple>
std::vector<Row> rows_of(std::vector<Tuple> given) {
  std::vector<Row> rows;
  rows.reserve(given.size());
  for (Tuple& tuple : given)
    rows.push_back(std::apply([](auto&... field) { return Row{std::move(field)...}; }, tuple));
  return rows;
}

void make_evaluator(Evaluator* self, std::vector<DeviceTuple> devices, std::vector<LinkTuple> links,
                    std::vector<TaskTuple> tasks, std::vector<TensorTuple> tensors,
                    const std::vector<Index>& homes) {
  new (self) Evaluator(Problem(rows_of<Device>(std::move(devices)), rows_of<Link>(std::move(links)),
                               rows_of<TaskRow>(std::move(tasks)),
                               rows_of<TensorRow>(std::move(tensors)), homes));
}

Table table(const std::vector<Copy>& copies) {
  std::vector<std::int64_t> numbers;
  for (const Copy& copy : copies)
    numbers.insert(numbers.end(),
                   {copy.tensor, copy.link, copy.ready_ns, copy.start_ns, copy.end_ns});
  return array<Table>(std::move(numbers), copies.size(), std::size_t{5});
}

std::tuple<Column, Column, Column, Table> schedule(Evaluator& evaluator, const Numbers& device_of,
                                                   const Numbers& priority, bool is_fifo,
                                                   const std::optional<Rows>& holds) {
  Schedule found;
  {
    const nb::gil_scoped_release released;
    found = evaluator.schedule(placed(device_of, priority, is_fifo, holds));
  }
  const std::size_t count = found.ready_ns.size();
  return {array<Column>(std::move(found.ready_ns), count),
          array<Column>(std::move(found.start_ns), count),
          array<Column>(std::move(found.end_ns), count), table(found.copies)};
}

}  // namespace

NB_MODULE(_evaluator, m) {
  m.doc() = "Evaluates placements of a problem that was read once; placement/evaluator.py asks it.";
  nb::class_<Evaluator> evaluator(
      m, "Evaluator", "One problem; keeps no Python object, and any threads may ask at once.");
  evaluator
      .def("__init__", &make_evaluator, "devices"_a, "links"_a, "tasks"_a, "tensors"_a,
           "homes"_a = std::vector<Index>(),
           R"(Read a problem; ValueError says what is out of range.

Rows have the fields of placement/problem.py: devices name, lanes, memory, submit_ns,
slowdown; links source, target, latency_ns, bytes_per_s, occupancy_ns, staging_bytes,
pageable; tasks name, service_ns, widths, launch_ns; tensors producer, consumers,
size_bytes, is_output. Memories are numbers.

A place is a device, or one once more for tasks that may take more of its lanes; homes has
the devices of the latter. Tasks have numbers for each place, placements are of places.)")
      .def(
          "makespan_ns",
          [](Evaluator& evaluator, const Numbers& device_of, const Numbers& priority, bool is_fifo,
             const std::optional<Rows>& holds) {
            const nb::gil_scoped_release released;
            return evaluator.makespan_ns(placed(device_of, priority, is_fifo, holds));
          },
          "device_of"_a, "priority"_a, "is_fifo"_a = false, "holds"_a = nb::none(),
          R"(End of one query of a placement: arrays of int64, by task.

Holds are rows of a tensor that is waited for, who waits, and a memory: the waiter is a task
where that is -1, else a tensor whose copy to that memory waits. ValueError names the task
that cannot run where it was placed, or is never ready.)")
      .def("schedule", &schedule, "device_of"_a, "priority"_a, "is_fifo"_a = false,
           "holds"_a = nb::none(),
           R"(When tasks are ready, start and end, by task, and the copies.

A copy is a row of tensor, link, ready_ns, start_ns and end_ns, in the order of their
starts. ValueError as makespan_ns.)");
  bind_policies(evaluator);
  bind_annealing(m);
  bind_room(m);
}

}  // namespace placement
