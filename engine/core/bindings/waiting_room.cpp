// Where queries of a model wait before lanes get them.
#include "scheduler/waiting_room.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/waiting_room.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using LevelRow = std::tuple<std::size_t, std::int64_t, bool>;

void make(PyWaitingRoom* self, const std::vector<LevelRow>& levels, std::size_t usual_level,
          std::size_t calls, std::uint32_t most_rows, std::vector<std::uint32_t> preferred_rows,
          std::int64_t delay_ns) {
  QueueRules rules{.calls = calls,
                   .most_rows = most_rows,
                   .preferred_rows = std::move(preferred_rows),
                   .delay_ns = delay_ns,
                   .usual_level = usual_level,
                   .levels = {}};
  for (const auto& [most_waiting, timeout_ns, delays] : levels)
    rules.levels.push_back({most_waiting, timeout_ns, delays});
  new (self) PyWaitingRoom{WaitingRoom::create(std::move(rules))};
}

}  // namespace

void bind_waiting_room(nb::module_& m) {
  nb::class_<PyWaitingRoom>(m, "WaitingRoom",
                            "Where queries of a model wait before lanes get them: `Plan.wait_in`.")
      .def("__init__", &make, "levels"_a, "usual_level"_a = 1, "calls"_a = 0, "most_rows"_a = 0,
           "preferred_rows"_a = std::vector<std::uint32_t>(), "delay_ns"_a = 0,
           R"(Raise ValueError for rules that cannot be meant.

Parameters
----------
levels
    The most urgent first: how many may wait, how many nanoseconds each, and whether it then
    goes behind the others instead of being turned away. 0: any number, as long as it takes.
usual_level
    Of queries that say none, from 1 on.
calls
    That are computed at once; 0: one a lane.
most_rows
    Of a batch; 0: as many as gain.
preferred_rows
    A batch of so many is not held back.
delay_ns
    How long a query waits for others at most, where its deadline leaves it time to spare.)")
      .def_prop_ro(
          "waiting", [](const PyWaitingRoom& self) { return self.room->waiting(); },
          "Queries that wait there now.");
}

}  // namespace engine
