// What a machine ran lately, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
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

/// Of a plan that is there, or was.
struct Flown {
  Flown(std::shared_ptr<const Plan> live, std::shared_ptr<const FlownPlan> dead, Urgency usual)
      : plan(std::move(live)), gone(std::move(dead)), urgency(usual) {}

  std::shared_ptr<const Plan> plan;  ///< keeps `flown`
  std::shared_ptr<const FlownPlan> gone;
  Urgency urgency;
  std::int64_t lost_before_ns = 0;  ///< older runs than what ended then were lost
  Table runs{5};

  [[nodiscard]] const FlownPlan& flown() const { return plan ? plan->flown() : *gone; }
};

struct Flights {
  Table rings{4}, nodes{8};
  std::vector<Flown> plans;
};

void add_nodes(Flights& found, const FlightRecorder::Ring& ring, std::int64_t since_ns) {
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
}

void add_runs(Flights& found, Flown flown, std::int64_t since_ns) {
  const RunRing& runs = flown.flown().runs();
  const bool has_lost = runs.written() > runs.capacity();
  runs.read([&](const RunRing::Record& run) {
    if (has_lost && flown.lost_before_ns == 0) flown.lost_before_ns = run[3];
    if (run[3] >= since_ns)
      flown.runs.numbers.insert(flown.runs.numbers.end(), run.begin(), run.end());
  });
  found.plans.push_back(std::move(flown));
}

/// What has ended since then.
Flights collected(Machine& machine, std::int64_t since_ns) {
  Flights found;
  // Plans that are there before those that are gone: one that goes meanwhile is in both at worst.
  const auto plans = machine.plans();
  const auto gone = machine.recorder().gone();
  for (const GonePlan& plan : gone)
    add_runs(found, Flown(nullptr, plan.flown, plan.urgency), since_ns);
  for (const auto& plan : plans) add_runs(found, Flown(plan, nullptr, plan->urgency()), since_ns);
  // After the runs: what these waited for is there, unless it was lost.
  machine.recorder().each_ring(
      [&](const FlightRecorder::Ring& ring) { add_nodes(found, ring, since_ns); });
  return found;
}

nb::dict plan_row(Flown&& flown) {
  nb::dict row;
  row["number"] = flown.flown().number();
  row["label"] = flown.flown().label();
  row["is_gone"] = flown.plan == nullptr;
  row["recorded"] = flown.flown().runs().written();
  row["late"] = flown.flown().late();
  row["lost_before_ns"] = flown.lost_before_ns;
  row["runs"] = std::move(flown.runs).rows();
  row["due_after_ns"] = flown.urgency.due_after_ns;
  row["priority"] = flown.urgency.priority;
  row["best_effort"] = flown.urgency.best_effort;
  return row;
}

nb::dict flights(const PyMachine& self, std::int64_t since_ns) {
  Machine& machine = *self.owner->get();
  Flights found;
  {
    const ReleasedGil released;
    found = collected(machine, since_ns);
  }
  nb::list plans;
  for (Flown& flown : found.plans) plans.append(plan_row(std::move(flown)));
  nb::dict result;
  result["now_ns"] = now_ns();
  result["on_since_ns"] = machine.recorder().on_since_ns();
  result["rings"] = std::move(found.rings).rows();
  result["nodes"] = std::move(found.nodes).rows();
  result["plans"] = plans;
  result["processes"] = machine.recorder().processes();
  return result;
}

/// Rows of a device, a kind of lane, a lane, and for how long it ran something.
nb::list busy_lanes(const PyMachine& self) {
  nb::list rows;
  self.owner->get()->recorder().each_ring([&](const FlightRecorder::Ring& ring) {
    if (ring.lane >= 0 || ring.records.busy_ns() > 0)
      rows.append(nb::make_tuple(ring.executor, static_cast<int>(ring.kind), ring.lane,
                                 ring.records.busy_ns()));
  });
  return rows;
}

std::vector<FlownNode> nodes_on(Machine& machine, std::uint32_t number) {
  for (const auto& plan : machine.plans())
    if (plan->flown().number() == number) return plan->flown_nodes();
  for (const GonePlan& plan : machine.recorder().gone())
    if (plan.flown->number() == number) return plan.nodes;
  return {};
}

/// What its records leave out: for each node what it is, and what it waits for.
nb::list nodes_of(const PyMachine& self, std::uint32_t number) {
  nb::list rows;
  for (const FlownNode& node : nodes_on(*self.owner->get(), number)) {
    nb::dict row;
    row["name"] = node.name;
    row["is_copy"] = node.is_copy;
    row["executor"] = node.executor;
    row["width"] = node.width;
    row["service_ns"] = node.service_ns;
    row["after"] = node.after;
    rows.append(row);
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

`nodes` int64 (n, 8): device, kind of lane (0 a lane, 1 a place that is lent to what is
more urgent, 2 best effort), arrival, plan, node, lane, start, end. Where a lane waited for
another process: -1 less its number in `processes`, instead of the node.
`rings` int64 (n, 4): device, kind, records so far, and since when all of a lane's are
there, 0 where none was lost.
`plans`, and the last ones that are gone: number, label, is_gone, `recorded` runs and of
these `late` ones in all, lost_before_ns (0: none was), what its runs are, and `runs`
int64 (n, 5): arrival, begun, due (0: not), end, outcome (1 ok, 2 failed, 3 cancelled,
4 deadline.)")
      .def(
          "busy_lanes", &busy_lanes,
          nb::sig("def busy_lanes(self) -> list[tuple[int, int, int, int]]"),
          R"(Device, kind of lane as in `flights`, lane (-1: all of them) and ns it ran recorded nodes.

Of all that ever ran while it was recorded; what has not ended is not known yet.)")
      .def(
          "nodes_of", &nodes_of, "plan"_a,
          nb::sig("def nodes_of(self, plan: int) -> list[dict[str, typing.Any]]"),
          "Name, is_copy, executor, width, service_ns and after (indices) of its nodes, if known.");
}

}  // namespace engine
