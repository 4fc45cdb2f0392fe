// What a machine ran lately, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/plan.hpp"
#include "scheduler/flight_recorder.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using Rows = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<2>>;

/// A table without the GIL, then Python's.
struct Table {
  std::size_t columns;
  std::vector<std::int64_t> numbers = {};

  [[nodiscard]] Rows rows() && {
    auto data = std::make_unique<std::vector<std::int64_t>>(std::move(numbers));
    const std::size_t count = data->size() / columns;
    std::int64_t* const begin = data->data();
    const nb::capsule owner(data.release(), [](void* p) noexcept {
      delete static_cast<std::vector<std::int64_t>*>(p);
    });
    return {begin, {count, columns}, owner};
  }
};

/// Of a plan.
struct Flown {
  std::shared_ptr<const Plan> plan;
  std::string label;
  Table runs{5};
};

struct Flights {
  Table rings{4}, nodes{8};
  std::vector<Flown> plans;
};

/// What has ended since then.
Flights collected(Machine& machine, std::int64_t since_ns) {
  Flights found;
  machine.recorder().each_ring([&](const FlightRecorder::Ring& ring) {
    const auto kind = static_cast<std::int64_t>(ring.kind);
    const bool has_lost = ring.records.written() > ring.records.capacity();
    std::int64_t reaches_ns = 0;  // back to then, where older records were lost
    ring.records.read([&](const NodeRing::Record& node) {
      if (has_lost && reaches_ns == 0) reaches_ns = node[5];
      if (node[5] < since_ns) return;
      found.nodes.numbers.insert(found.nodes.numbers.end(), {ring.executor, kind});
      found.nodes.numbers.insert(found.nodes.numbers.end(), node.begin(), node.end());
    });
    found.rings.numbers.insert(
        found.rings.numbers.end(),
        {ring.executor, kind, static_cast<std::int64_t>(ring.records.written()), reaches_ns});
  });
  // After the nodes: a run that is there has all of its nodes, unless they were lost.
  for (auto& plan : machine.plans()) {
    Flown flown{plan, plan->label()};
    plan->flights().read([&](const RunRing::Record& run) {
      if (run[3] >= since_ns)
        flown.runs.numbers.insert(flown.runs.numbers.end(), run.begin(), run.end());
    });
    found.plans.push_back(std::move(flown));
  }
  return found;
}

nb::dict flights(const PyMachine& self, std::int64_t since_ns) {
  Machine& machine = *self.owner->get();
  Flights found;
  {
    const ReleasedGil released;
    found = collected(machine, since_ns);
  }
  nb::list plans;
  for (Flown& flown : found.plans) {
    nb::dict row;
    row["number"] = flown.plan->number();
    row["label"] = flown.label;
    row["recorded"] = flown.plan->flights().written();
    row["late"] = flown.plan->late_count();
    row["runs"] = std::move(flown.runs).rows();
    const Urgency urgency = flown.plan->urgency();
    row["due_after_ns"] = urgency.due_after_ns;
    row["priority"] = urgency.priority;
    row["best_effort"] = urgency.best_effort;
    plans.append(row);
  }
  nb::dict result;
  result["now_ns"] = now_ns();
  result["on_since_ns"] = machine.recorder().on_since_ns();
  result["rings"] = std::move(found.rings).rows();
  result["nodes"] = std::move(found.nodes).rows();
  result["plans"] = plans;
  result["gone"] = machine.recorder().gone();
  return result;
}

/// What its records leave out: for each node what it is, and what it waits for.
nb::list nodes_of(const PyMachine& self, std::uint32_t number) {
  nb::list rows;
  for (const auto& plan : self.owner->get()->plans()) {
    if (plan->number() != number) continue;
    std::vector<std::vector<std::uint32_t>> after(plan->node_count());
    for (std::uint32_t i = 0; i < plan->node_count(); ++i)
      for (const std::uint32_t next : plan->successors(plan->node(i))) after[next].push_back(i);
    for (std::uint32_t i = 0; i < plan->node_count(); ++i) {
      const PlanNode& node = plan->node(i);
      nb::dict row;
      row["name"] = plan->node_name(i);
      row["is_copy"] = node.kind == NodeKind::copy;
      row["executor"] = node.executor;
      row["width"] = node.width;
      row["service_ns"] = node.service_ns;
      row["after"] = after[i];
      rows.append(row);
    }
  }
  return rows;
}

}  // namespace

void bind_flights(nb::class_<PyMachine>& machine) {
  machine
      .def(
          "record_until",
          [](const PyMachine& self, std::int64_t until_ns) {
            self.owner->get()->recorder().ask_until(until_ns);
          },
          "until_ns"_a,
          R"(Record what runs and how queries end, until then on time.monotonic_ns()'s clock.

It is recorded anyway while a plan is loaded whose queries are due.)")
      .def("flights", &flights, "since_ns"_a = 0,
           nb::sig("def flights(self, since_ns: int = 0) -> dict[str, typing.Any]"),
           R"(What was recorded of nodes and runs that ended since then.

`nodes` int64 (n, 8): device, kind of ring, arrival, plan, node, lane, start, end. `rings` int64
(n, 4): device, kind (0 lane, 1 lent to what is more urgent, 2 best effort), records so far, and
since when all are there, 0 where none was lost. `plans`: number, label, `recorded` runs and of
these `late` ones in all, what its runs are, and `runs` int64 (n, 5): arrival, begun, due (0: not),
end, outcome (1 ok, 2 failed, 3 cancelled, 4 deadline). `gone`: labels of plans that are no more.)")
      .def("nodes_of", &nodes_of, "plan"_a,
           nb::sig("def nodes_of(self, plan: int) -> list[dict[str, typing.Any]]"),
           "Name, is_copy, executor, width, service_ns and after (indices) of a plan's nodes; none "
           "where it is no more.");
}

}  // namespace engine
