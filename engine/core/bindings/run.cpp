// Plans, their runs and what waits for these, for Python.
// Long because a plan's class is bound in one place, with what each method says.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/limits.hpp"
#include "bindings/plan.hpp"
#include "bindings/value.hpp"
#include "bindings/waiting_room.hpp"
#include "kernels/library.hpp"
#include "ort/stacker.hpp"
#include "scheduler/completion_queue.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/run.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

struct PyShare {
  std::shared_ptr<FairShare> share;
};

struct PyCompletionQueue {
  std::shared_ptr<CompletionQueue> queue;
};

std::vector<ValuePtr> to_values(const nb::sequence& inputs) {
  std::vector<ValuePtr> values;
  for (const nb::handle item : inputs)
    values.push_back(item.is_none() ? nullptr : nb::cast<const PyValue&>(item).value);
  return values;
}

nb::list to_list(const std::vector<ValuePtr>& values) {
  nb::list list;
  for (const ValuePtr& value : values) list.append(value ? nb::cast(PyValue{value}) : nb::none());
  return list;
}

PyRun submit(const PyPlan& self, const nb::sequence& inputs, std::int64_t deadline_ns,
             std::optional<int> priority, bool traced, const PyCompletionQueue* completions,
             std::int64_t tag, std::int64_t due_ns, std::optional<bool> best_effort) {
  release_deferred_buffers();
  RunOptions options{.deadline_ns = limited(deadline_ns),
                     .due_ns = due_ns,
                     .priority = priority,
                     .best_effort = best_effort,
                     .traced = traced,
                     .completions = completions != nullptr ? completions->queue : nullptr,
                     .tag = tag};
  return start(self, to_values(inputs), std::move(options));
}

nb::list run_plan(const PyPlan& self, const nb::sequence& inputs, double timeout_s) {
  const PyRun done = execute(self, to_values(inputs), timeout_s, false, 0);
  const Outcome outcome = done.run->outcome();
  if (outcome != Outcome::ok)
    throw std::runtime_error(outcome == Outcome::failed ? done.run->error() : to_string(outcome));
  return to_list(done.run->outputs());
}

std::pair<std::int64_t, std::string> foresee(const PyPlan& self, std::int64_t deadline_ns,
                                             std::optional<int> priority, std::int64_t due_ns,
                                             std::optional<bool> best_effort) {
  const RunOptions options{.deadline_ns = deadline_ns,
                           .due_ns = due_ns,
                           .priority = priority,
                           .best_effort = best_effort};
  const Plan& plan = *self.plan;
  if (!plan.admission().any()) return {};
  const RunOrder order = Run::order_of(plan, options, UINT64_MAX);
  Admission& admission = plan.machine().admission();
  const Admission::Verdict verdict = admission.foresee(plan, order, priority, now_ns());
  return {verdict.by_ns, verdict.refuses() ? verdict.text() : std::string()};
}

/// Element type and extents behind the leading one, of each input.
using StackedShapes = std::vector<std::pair<int, std::vector<std::int64_t>>>;

void stack(const PyPlan& self, const StackedShapes& inputs, std::vector<std::int64_t> takes_ns,
           std::uint32_t least_rows) {
  if (takes_ns.empty()) return self.plan->stack_by(nullptr);
  std::vector<StackedInput> stacked;
  for (const auto& [elem_type, extents] : inputs) stacked.push_back({elem_type, extents});
  const Plan& plan = *self.plan;
  const std::size_t read = plan.node_count() == 0 ? 0 : plan.inputs_of(plan.node(0)).size();
  if (stacked.size() != read)
    throw std::invalid_argument("the first node reads " + std::to_string(read) +
                                " values, got shapes of " + std::to_string(stacked.size()));
  self.plan->stack_by(std::make_unique<const Stacking>(make_ort_stacker(std::move(stacked)),
                                                       least_rows, std::move(takes_ns)));
}

SpanRows spans(const PyRun& self) {
  if (!self.run->done()) throw std::runtime_error("spans are there once the run is done");
  return span_rows(self.run->spans(), self.run->submitted_ns());
}

}  // namespace

void bind_run(nb::module_& m) {
  nb::class_<PyCompletionQueue>(m, "CompletionQueue", "Finished runs for an event loop.")
      .def("__init__",
           [](PyCompletionQueue* self) {
             new (self) PyCompletionQueue{std::make_shared<CompletionQueue>()};
           })
      .def_prop_ro("fd", [](const PyCompletionQueue& self) { return self.queue->fd(); })
      .def("drain", [](const PyCompletionQueue& self) {
        release_deferred_buffers();
        nb::list runs;
        for (RunPtr& run : self.queue->drain())
          runs.append(nb::cast(PyRun{nullptr, std::move(run)}));
        return runs;
      });
  nb::class_<PyRun>(m, "Run", "One execution of a plan.")
      .def_prop_ro("done", [](const PyRun& self) { return self.run->done(); })
      .def_prop_ro("status", [](const PyRun& self) { return to_string(self.run->outcome()); })
      .def_prop_ro("error", [](const PyRun& self) { return self.run->error(); })
      .def_prop_ro("error_node", [](const PyRun& self) { return self.run->error_node(); })
      .def_prop_ro(
          "refused_by_ns", [](const PyRun& self) { return self.run->refused_by_ns(); },
          "By how much a refused run would have been late, or have waited longer than it may.")
      .def_prop_ro(
          "error_code", [](const PyRun& self) { return self.run->error_code(); },
          "What the kernel's library numbers its error, of ONNX Runtime's an OrtErrorCode; or 0.")
      .def_prop_ro("tag", [](const PyRun& self) { return self.run->tag(); })
      .def(
          "wait",
          [](const PyRun& self, double timeout_s, bool help) {
            return wait_for(*self.run, until_ns(timeout_s), help);
          },
          "timeout_s"_a = -1.0, "help"_a = true)
      .def("cancel", [](const PyRun& self) { self.run->cancel(); })
      .def("outputs", [](const PyRun& self) { return to_list(self.run->outputs()); })
      .def("spans", &spans)
      .def_prop_ro(
          "stacked",
          [](const PyRun& self) {
            return self.run->done() && self.run->traced() ? self.run->spans()[0].stacked : 1;
          },
          "With how many runs a traced one was answered by one call, its own included.")
      .def_prop_ro(
          "submitted_ns", [](const PyRun& self) { return self.run->submitted_ns(); },
          "When a traced run was submitted, on time.monotonic_ns()'s clock; 0 if not traced.");
  nb::class_<PyShare>(m, "FairShare", "What the plans of one model were given of the lanes.")
      .def("__init__", [](PyShare* self) { new (self) PyShare{std::make_shared<FairShare>()}; });
  nb::class_<PyPlan>(m, "Plan", "Immutable; many runs at once.")
      .def_prop_ro("node_names", [](const PyPlan& self) { return self.plan->node_names(); })
      .def_prop_ro(
          "captured_nodes",
          [](const PyPlan& self) {
            std::vector<std::uint32_t> captured;
            for (std::uint32_t i = 0; i < self.plan->node_count(); ++i)
              if (self.plan->node(i).is_captured) captured.push_back(i);
            return captured;
          },
          "Nodes that their device takes as one captured graph.")
      .def_prop_ro(
          "devices", [](const PyPlan& self) { return self.plan->devices(); },
          "The devices of the machine that it has nodes on, a bit each.")
      .def_prop_ro(
          "uncaptured",
          [](const PyPlan& self) {
            std::map<std::uint32_t, std::string> reasons;
            for (const auto& [node, why] : self.plan->uncaptured()) reasons[node] = why;
            return reasons;
          },
          "Nodes that were to be captured and could not, and why.")
      .def_prop_ro(
          "dropped_kernels",
          [](const PyPlan& self) {
            std::vector<std::string> names;
            for (std::uint32_t node = 0; node < self.plan->node_count(); ++node) {
              const auto* kernel =
                  dynamic_cast<const kernels::LibraryKernel*>(self.plan->node(node).kernel);
              if (kernel != nullptr && kernel->is_dropped())
                names.push_back(self.plan->node_name(node));
            }
            return names;
          },
          "Nodes that go on without their library's kernels, as most queries had other sizes.")
      .def_prop_ro(
          "held_nodes",
          [](const PyPlan& self) { return self.plan->machine().held_lanes().nodes(*self.plan); },
          "Names of those that still hold their lanes 30 s after their queries ended.")
      .def(
          "limit_time",
          [](const PyPlan& self, std::int64_t limit_ns) { self.plan->limit_time(limit_ns); },
          "limit_ns"_a,
          R"(End runs whose kernels take longer, between the first and the last; 0 is no limit.

Their status is then "deadline". An operator that does not end by itself cannot be ended.)")
      .def_prop_ro(
          "number", [](const PyPlan& self) { return self.plan->flown().number(); },
          "Unique in the process; `Machine.flights` names plans by it.")
      .def(
          "be_called",
          [](const PyPlan& self, std::string label, bool serves) {
            self.plan->flown().be_called(std::move(label), serves);
          },
          "label"_a, "serves"_a = true,
          "What people know its model by, and whether its runs count as queries of that.")
      .def(
          "be_urgent",
          [](const PyPlan& self, std::int64_t due_after_ns, int priority, bool best_effort) {
            self.plan->be_urgent({due_after_ns, priority, best_effort});
          },
          "due_after_ns"_a = 0, "priority"_a = 0, "best_effort"_a = false,
          R"(What runs are from now on where they do not say it themselves.

Parameters
----------
due_after_ns
    From submission on; 0: they are not due. Nothing ends when it has passed.
priority
    The higher goes first.
best_effort
    Behind all that is not.)")
      .def(
          "share_with",
          [](const PyPlan& self, const PyShare& share) { self.plan->share_with(share.share); },
          "share"_a, "Be of the model that this share is of; before the first run.")
      .def(
          "weigh",
          [](const PyPlan& self, double weight) {
            if (!(weight >= FairShare::least_weight && weight <= FairShare::most_weight))
              throw std::invalid_argument("a weight is 0.01 to 100, got " + std::to_string(weight));
            self.plan->share().weigh(weight);
          },
          "weight"_a,
          "Its model's, of 0.01 to 100: twice the weight gets twice the lanes' time, among runs "
          "of\n"
          "one priority that are not due.")
      .def(
          "be_measured", [](const PyPlan& self) { self.plan->be_measured(); },
          "Learn from now on how long its nodes take: those of 20 us, or of unknown length.")
      .def_prop_ro(
          "work_ns", [](const PyPlan& self) { return self.plan->times().work_ns(); },
          "What a run is expected to take of all lanes; 0 if nothing is known.")
      .def(
          "admit_by",
          [](const PyPlan& self, bool refuses_late, std::int64_t max_wait_ns) {
            self.plan->admit_by({refuses_late, max_wait_ns});
          },
          "refuses_late"_a = false, "max_wait_ns"_a = 0,
          R"(Refuse runs from now on; their status is then "refused", before they were queued.

Parameters
----------
refuses_late
    Those that are due and cannot be in time, nor without making a promised one late.
max_wait_ns
    Those that are not due and would wait for longer; 0: none.)")
      .def("foresee", &foresee, "deadline_ns"_a = 0, "priority"_a.none() = nb::none(),
           "due_ns"_a = 0, "best_effort"_a.none() = nb::none(),
           R"(Whether a run that was submitted now would be refused, as far as can be told.

By how much it would be late, or wait for too long, and words for it; 0 where it would not.
One that would be refused counts as such: it must not be submitted.)")
      .def_prop_ro(
          "urgency",
          [](const PyPlan& self) {
            const Urgency urgency = self.plan->urgency();
            return nb::make_tuple(urgency.due_after_ns, urgency.priority, urgency.best_effort);
          },
          nb::sig("def urgency(self) -> tuple[int, int, bool]"),
          "What `be_urgent` said: nanoseconds, priority, best effort.")
      .def("stack", &stack, "inputs"_a, "takes_ns"_a, "least_rows"_a = 1,
           R"(Answer runs that wait for a lane at the same time together, from now on.

Parameters
----------
inputs
    Element type, and extents behind the leading one, of each value that the node reads.
takes_ns
    What a call takes for 1, 2, ... rows, which are no more than that. None: no longer.
least_rows
    A run of fewer is answered alone.)")
      .def(
          "wait_in",
          [](const PyPlan& self, const PyWaitingRoom& room) { self.plan->wait_in(room.room); },
          "room"_a, "Where runs that begin from now on wait before lanes get them.")
      .def_prop_ro(
          "stacks",
          [](const PyPlan& self) {
            const Stacking* const stacking = self.plan->stacking();
            return stacking == nullptr ? nb::make_tuple(0, 0)
                                       : nb::make_tuple(stacking->stacks(), stacking->queries());
          },
          nb::sig("def stacks(self) -> tuple[int, int]"),
          "How many calls answered several runs, and how many runs.")
      .def_prop_ro(
          "stack_sizes",
          [](const PyPlan& self) {
            nb::dict sizes;
            const Stacking* const stacking = self.plan->stacking();
            if (stacking == nullptr) return sizes;
            for (std::size_t size = 2; size <= Stacking::most_queries; ++size) {
              const Stacking::OfSize found = stacking->of_size(size);
              if (found.stacks > 0)
                sizes[nb::int_(size)] = nb::make_tuple(found.stacks, found.took_ns);
            }
            return sizes;
          },
          nb::sig("def stack_sizes(self) -> dict[int, tuple[int, int]]"),
          "By how many runs a call answered: such calls, and what they took in nanoseconds.")
      .def("submit", &submit, "inputs"_a, "deadline_ns"_a = 0, "priority"_a.none() = nb::none(),
           "traced"_a = false, "completions"_a.none() = nb::none(), "tag"_a = 0, "due_ns"_a = 0,
           "best_effort"_a.none() = nb::none())
      .def(
          "execute",
          [](const PyPlan& self, const nb::sequence& inputs, double timeout_s, bool traced,
             std::int64_t due_ns) {
            return execute(self, to_values(inputs), timeout_s, traced, due_ns);
          },
          "inputs"_a, "timeout_s"_a = -1.0, "traced"_a = false, "due_ns"_a = 0,
          nb::sig("def execute(self, inputs: Sequence[Value | None], timeout_s: float = -1.0, "
                  "traced: bool = False, due_ns: int = 0) -> Run"),
          "Runs in the calling thread and on idle lanes; the run that it returns is done.")
      .def("run", &run_plan, "inputs"_a, "timeout_s"_a = -1.0);
}

}  // namespace engine
