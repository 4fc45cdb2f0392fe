// What Python holds of machines, plans and runs, shared by the bind_*.cpp of the scheduler.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bindings/released_gil.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/plan_builder.hpp"
#include "scheduler/run.hpp"

namespace engine {

/// Closes the machine without the GIL: lanes end their nodes meanwhile.
class PyMachineOwner {
 public:
  explicit PyMachineOwner(const MachineParams& params)
      : owner_(std::make_unique<MachineOwner>(params)) {}
  PyMachineOwner(const PyMachineOwner&) = delete;
  PyMachineOwner& operator=(const PyMachineOwner&) = delete;
  ~PyMachineOwner() {
    const ReleasedGil released(std::nothrow);
    owner_.reset();
  }
  [[nodiscard]] const std::shared_ptr<Machine>& get() const noexcept { return owner_->get(); }

 private:
  std::unique_ptr<MachineOwner> owner_;
};

using OwnerPtr = std::shared_ptr<PyMachineOwner>;

struct PyMachine {
  OwnerPtr owner;
};
struct PyPlanBuilder {
  OwnerPtr owner;
  PlanBuilder builder;
};
struct PyPlan {
  OwnerPtr owner;
  std::shared_ptr<const Plan> plan;
};
struct PyRun {
  OwnerPtr owner;  ///< null for runs from a completion queue
  RunPtr run;
};
/// What is kept of a finished traced run until somebody looks: its outputs are not.
struct PyRecording {
  std::vector<NodeSpan> spans;
  std::int64_t submitted_ns;
  std::vector<std::int64_t> moments;  ///< of the caller, as CallTimes in Python has them

  PyRecording(const Run& run, std::vector<std::int64_t> moments_ns);
};

using SpanRows = nanobind::ndarray<nanobind::numpy, std::int64_t, nanobind::ndim<2>>;

/// int64 (nodes, 5): node, lane, ready, start, end, from the submission on.
[[nodiscard]] SpanRows span_rows(std::span<const NodeSpan> spans, std::int64_t submitted_ns);

/// Absolute time of a timeout in seconds; 0 for a negative one or one of decades, which mean none.
[[nodiscard]] std::int64_t until_ns(double timeout_s);

/// Waits until the run is done or `until_ns` (0: no limit) has come; returns whether it is done.
/// With the GIL, which is released meanwhile. Throws what a signal's handler raises, which Python
/// calls in its main thread only while that is not away: so the caller helps, if `help`, with runs
/// that do not last long, and waits for the others in slices.
[[nodiscard]] bool wait_for(Run& run, std::int64_t until_ns, bool help);

/// Submits, without the GIL; with it before and afterwards.
[[nodiscard]] PyRun start(const PyPlan& plan, const std::vector<ValuePtr>& inputs,
                          RunOptions options);

/// Submits and, unless the run lasts long, helps in the calling thread, so that a plan of one
/// segment needs no hand-over. As wait_for(); the run is done, or cancelled with the exception.
/// Raises Python's TimeoutError.
[[nodiscard]] PyRun execute(const PyPlan& plan, const std::vector<ValuePtr>& inputs,
                            double timeout_s, bool traced, std::int64_t due_ns);

void bind_decisions(nanobind::module_& m);
void bind_devices(nanobind::module_& m);
void bind_broker(nanobind::module_& m);
void bind_machine(nanobind::module_& m);
void bind_builder(nanobind::module_& m);
void bind_run(nanobind::module_& m);
void bind_frontend(nanobind::module_& m);
void bind_query(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
/// Methods of the machine.
void bind_flights(nanobind::class_<PyMachine>& machine);
/// Methods of the builder.
void bind_compiled(nanobind::class_<PyPlanBuilder>& builder);

}  // namespace engine
