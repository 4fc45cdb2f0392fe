#include "annealing_bindings.hpp"

#include <cstdint>
#include <tuple>
#include <utility>

#include "annealing.hpp"
#include "arrays.hpp"
#include "evaluator.hpp"
#include "room_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace placement {

namespace {

void make(Annealing* self, const Evaluator& evaluator, const Numbers& device_of,
          const Numbers& priority, ConstantsTuple constants, std::uint64_t seed,
          std::int64_t evaluations, Ns time_ns, int threads, Ns target_ns) {
  const Placed start{
      {device_of.data(), device_of.size()}, {priority.data(), priority.size()}, false};
  new (self) Annealing(evaluator.problem(), start, constants_of(std::move(constants)),
                       {seed, evaluations, time_ns, threads, target_ns});
}

}  // namespace

void bind_annealing(nb::module_& m) {
  nb::class_<Annealing>(
      m, "Annealing",
      "Searches for shorter plans in threads of its own, from its making on; placement/anneal.py.")
      .def("__init__", &make, nb::keep_alive<1, 2>(), "evaluator"_a, "device_of"_a, "priority"_a,
           "constants"_a, "seed"_a, "evaluations"_a, "time_ns"_a, "threads"_a, "target_ns"_a,
           R"(Begin at a plan; ValueError says what is wrong with it.

constants: capacity by memory (negative: unlimited; empty: none is limited), own bytes by
task, blobs by task, bytes by blob. evaluations (of each thread) and time_ns: 0 is no
limit. A plan of target_ns ends the search.)")
      .def("wait", &Annealing::wait, nb::call_guard<nb::gil_scoped_release>(), "most_ns"_a,
           "Block until it is done, or so long; whether it is.")
      .def("cancel", &Annealing::cancel, "End it soon, without waiting for that.")
      .def(
          "best",
          [](const Annealing& annealing) {
            RankedPlacement plan = annealing.best();
            return std::tuple(std::move(plan.device_of), std::move(plan.priority));
          },
          "Devices and ranks of the best plan so far, by task.")
      .def_prop_ro("best_ns", &Annealing::best_ns, "Its makespan.")
      .def_prop_ro("evaluations", &Annealing::evaluations, "Plans that were looked at.");
}

}  // namespace placement
