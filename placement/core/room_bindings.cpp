#include "room_bindings.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "evaluator.hpp"
#include "simulation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace placement {

namespace {

/// A room, and the simulation whose queries it looks at; the GIL keeps threads apart.
class OwnRoom {
 public:
  OwnRoom(const Evaluator& evaluator, ConstantsTuple constants)
      : simulation_(evaluator.problem()),
        room_(evaluator.problem(), constants_of(std::move(constants))) {}

  [[nodiscard]] bool holds(const Numbers& device_of, const Numbers& priority,
                           const std::optional<Rows>& held) {
    simulation_.run(placed(device_of, priority, false, held));
    return room_.holds(simulation_);
  }

 private:
  Simulation simulation_;
  Room room_;
};

}  // namespace

void bind_room(nb::module_& m) {
  nb::class_<OwnRoom>(m, "Room", "What the memories of a problem hold; placement/room.py.")
      .def(nb::init<const Evaluator&, ConstantsTuple>(), nb::keep_alive<1, 2>(), "evaluator"_a,
           "constants"_a,
           R"(ValueError if a list has another length than it must.

constants: capacity by memory (negative: unlimited; empty: none is limited), own bytes by
task, blobs by task, bytes by blob.)")
      .def("holds", &OwnRoom::holds, "device_of"_a, "priority"_a, "held"_a = nb::none(),
           "Whether one query of a placement fits; what is held, and ValueError: as makespan_ns.");
}

}  // namespace placement
