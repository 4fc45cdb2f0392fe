// The scheduler's Python face: machine, plans, runs, completions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind_plan.hpp"
#include "bind_value.hpp"
#include "completion_queue.hpp"
#include "machine.hpp"
#include "ort_cuda.hpp"
#include "ort_kernel.hpp"
#include "ort_plugin.hpp"
#include "ort_source.hpp"
#include "run.hpp"
#include "work_kernel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

struct PyMachine {
  OwnerPtr owner;
};
struct PyCompletionQueue {
  std::shared_ptr<CompletionQueue> queue;
};

using NamedValues = std::vector<std::pair<std::string, int>>;

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

NamedValues to_named(const nb::sequence& rows) {
  NamedValues named;
  for (const nb::handle row : rows) {
    const nb::tuple pair = nb::cast<nb::tuple>(row);
    if (pair.size() != 2) throw std::invalid_argument("expected (name, value) pairs");
    named.emplace_back(nb::cast<std::string>(pair[0]), nb::cast<int>(pair[1]));
  }
  return named;
}

/// The plugin provider of a device's sessions, if it has one; a device that is not there is
/// refused by the builder.
ort::Plugin* plugin_of(Machine& machine, int device) {
  if (device < 0 || device >= machine.device_count()) return nullptr;
  const std::string provider = machine.device(device).provider();
  return provider.empty() ? nullptr : &ort::Plugin::get(provider);
}

/// Open, or as its device wants it.
std::shared_ptr<const Kernel> make_kernel(Machine& machine, int device, ort::SessionParams params,
                                          std::vector<std::string> input_names,
                                          std::vector<std::string> output_names) {
  const bool known = device >= 0 && device < machine.device_count();
  if (known && machine.device(device).opens_sessions()) {
    params.width = 1;  // lanes of a GPU are no threads
    return std::make_shared<ort::SessionSource>(std::move(params), std::move(input_names),
                                                std::move(output_names));
  }
  return make_ort_kernel(params.model, params.is_bytes, std::move(input_names),
                         std::move(output_names), params.width, params.level, params.config,
                         plugin_of(machine, device));
}

int add_session(PyPlanBuilder& self, std::string name, int device, const nb::object& model,
                const nb::sequence& inputs, const nb::sequence& outputs, int width,
                std::int64_t rank, std::int64_t service_ns, std::int64_t launch_ns,
                std::int64_t captured_ns, const std::string& level,
                const std::map<std::string, std::string>& config) {
  const bool is_bytes = nb::isinstance<nb::bytes>(model);
  std::string source;
  if (is_bytes) {
    const nb::bytes raw = nb::cast<nb::bytes>(model);
    source.assign(raw.c_str(), raw.size());
  } else {
    source = nb::cast<std::string>(model);
  }
  NodeSpec spec{.name = std::move(name),
                .device = device,
                .width = width,
                .rank = rank,
                .service_ns = service_ns,
                .launch_ns = launch_ns,
                .captured_ns = captured_ns,
                .kind = NodeKind::segment};
  std::vector<std::string> input_names, output_names;
  for (auto& [port, value] : to_named(inputs)) {
    input_names.push_back(port);
    spec.inputs.push_back(value);
  }
  for (auto& [port, value] : to_named(outputs)) {
    output_names.push_back(port);
    spec.outputs.push_back(value);
  }
  const nb::gil_scoped_release release;
  spec.kernel = make_kernel(*self.owner->get(), device,
                            {.model = std::move(source),
                             .is_bytes = is_bytes,
                             .width = width,
                             .level = level,
                             .config = config},
                            std::move(input_names), std::move(output_names));
  self.builder.set_token_maker(make_ort_cancel_token);
  return self.builder.add_node(std::move(spec));
}

int add_work(PyPlanBuilder& self, std::string name, int device, std::vector<int> after,
             std::int64_t spin_ns, bool fail, int width, std::int64_t rank) {
  NodeSpec spec{.name = std::move(name),
                .device = device,
                .after = std::move(after),
                .width = width,
                .rank = rank,
                .service_ns = spin_ns,
                .kind = NodeKind::work};
  const Machine& machine = *self.owner->get();
  const bool known = device >= 0 && device < machine.device_count();
  // an emulated device charges the time instead of burning it
  const bool timed = known && self.owner->get()->device(device).is_timed();
  const std::int64_t burnt_ns = timed ? 0 : spin_ns;
  if (burnt_ns > 0 || fail) spec.kernel = std::make_shared<WorkKernel>(burnt_ns, fail);
  return self.builder.add_node(std::move(spec));
}

/// Python cannot read a GPU's memory: what a plan answers must have been copied to the host.
std::shared_ptr<const Plan> build(PyPlanBuilder& self) {
  std::shared_ptr<const Plan> plan = self.builder.build();
  Machine& machine = plan->machine();
  for (const std::uint32_t slot : plan->graph_outputs()) {
    const auto memory = static_cast<int>(plan->slots()[slot].meter);
    if (memory >= machine.device_count()) continue;  // an input
    Device& device = machine.device(memory);
    if (device.has_own_memory())
      throw std::invalid_argument("an output of the plan lies in the memory of '" + device.name() +
                                  "': add a copy to a CPU device");
  }
  return plan;
}

PyRun submit(const PyPlan& self, const nb::sequence& inputs, std::int64_t deadline_ns, int priority,
             bool traced, const PyCompletionQueue* completions, std::int64_t tag) {
  release_deferred_buffers();
  RunOptions options{.deadline_ns = deadline_ns,
                     .priority = priority,
                     .traced = traced,
                     .completions = completions != nullptr ? completions->queue : nullptr,
                     .tag = tag};
  return {self.owner,
          self.plan->machine().submit(*self.plan, to_values(inputs), std::move(options))};
}

nb::list run(const PyPlan& self, const nb::sequence& inputs, double timeout_s) {
  const PyRun done = execute(self, to_values(inputs), timeout_s, false);
  const Outcome outcome = done.run->outcome();
  if (outcome != Outcome::ok)
    throw std::runtime_error(outcome == Outcome::failed ? done.run->error() : to_string(outcome));
  return to_list(done.run->outputs());
}

SpanRows spans(const PyRun& self) {
  if (!self.run->done()) throw std::runtime_error("spans are there once the run is done");
  return span_rows(self.run->spans(), self.run->submitted_ns());
}

nb::dict stats(const PyMachine& self) {
  const Machine::Stats stats = self.owner->get()->stats();
  nb::list devices;
  for (std::size_t i = 0; i < stats.devices.size(); ++i) {
    nb::dict row;
    const Device& device = self.owner->get()->device(static_cast<int>(i));
    row["name"] = device.name();
    row["lanes"] = device.lanes();
    row["executed"] = stats.devices[i].executed;
    row["queued"] = stats.devices[i].queued;
    if (device.has_own_memory()) {
      row["replayed"] = stats.devices[i].replayed;
      row["memory_bytes"] = stats.devices[i].memory_bytes;
      row["used_bytes"] = stats.devices[i].used_bytes;
    }
    if (std::string what = device.warning(); !what.empty()) row["warning"] = std::move(what);
    if (std::string why = device.failure(); !why.empty()) row["failure"] = std::move(why);
    devices.append(row);
  }
  nb::dict result;
  result["devices"] = devices;
  result["live_values"] = stats.live_values;
  result["live_bytes"] = stats.live_bytes;
  result["runs_in_flight"] = stats.runs_in_flight;
  return result;
}

void bind_machine(nb::module_& m) {
  m.attr("has_cuda_sessions") = true;
  nb::class_<CudaParams>(m, "CudaOptions", "What only a device of kind \"cuda\" has.")
      .def(nb::init<>())
      .def_rw("ordinal", &CudaParams::ordinal, "CUDA's number of the GPU.")
      .def_rw("sms", &CudaParams::sms, "SMs of a partition of the GPU; 0 is all of it.")
      .def_rw("driver", &CudaParams::driver, "CUDA's driver library; empty: the usual name.")
      .def_rw("library", &CudaParams::library, "CUDA's runtime library; empty: the usual names.")
      .def_rw("reserve_bytes", &CudaParams::reserve_bytes,
              "Device memory that is taken at the start.")
      .def_rw("staging_bytes", &CudaParams::staging_bytes, "Pinned host memory for copies.")
      .def_rw("queue_depth", &CudaParams::queue_depth, "Most submissions in a stream at a time.")
      .def_rw("resets_when_lost", &CudaParams::resets_when_lost,
              "Whether closing a lost device resets CUDA, so that the GPU can be opened again.");
  nb::class_<DeviceParams>(m, "DeviceOptions", "One device of a Machine.")
      .def(
          "__init__",
          [](DeviceParams* self, std::string kind, std::string name, int lanes) {
            new (self)
                DeviceParams{.kind = std::move(kind), .name = std::move(name), .lanes = lanes};
          },
          "kind"_a = "cpu", "name"_a = "cpu", "lanes"_a = 1)
      .def_rw("kind", &DeviceParams::kind)
      .def_rw("name", &DeviceParams::name)
      .def_rw("lanes", &DeviceParams::lanes)
      .def_rw("replay", &DeviceParams::replay)
      .def_rw("submit_ns", &DeviceParams::submit_ns)
      .def_rw("slowdown", &DeviceParams::slowdown)
      .def_rw("memory_bytes", &DeviceParams::memory_bytes)
      .def_rw("first_run_ns", &DeviceParams::first_run_ns)
      .def_rw("fail_prepare", &DeviceParams::fail_prepare)
      .def_rw("fail_every", &DeviceParams::fail_every)
      .def_rw("lose_at", &DeviceParams::lose_at)
      .def_rw("capture_ns", &DeviceParams::capture_ns)
      .def_rw("fail_capture", &DeviceParams::fail_capture)
      .def_rw("h2d_occupancy_ns", &DeviceParams::h2d_occupancy_ns)
      .def_rw("d2h_occupancy_ns", &DeviceParams::d2h_occupancy_ns)
      .def_rw("staging_bytes", &DeviceParams::staging_bytes)
      .def_rw("pageable", &DeviceParams::pageable)
      .def_rw("h2d_latency_ns", &DeviceParams::h2d_latency_ns)
      .def_rw("h2d_bytes_per_s", &DeviceParams::h2d_bytes_per_s)
      .def_rw("d2h_latency_ns", &DeviceParams::d2h_latency_ns)
      .def_rw("d2h_bytes_per_s", &DeviceParams::d2h_bytes_per_s)
      .def_rw("cuda", &DeviceParams::cuda)
      .def_prop_rw(
          "provider", [](const DeviceParams& self) { return self.plugin.provider; },
          [](DeviceParams& self, const std::string& name) {
            self.plugin = {name, ort::Plugin::get(name).thread()};
          },
          "The provider of a device of kind \"plugin\", as named to open_plugin().");
  nb::class_<PyMachine>(m, "Machine", "Queues, lanes and threads of the devices of a process.")
      .def(
          "__init__",
          [](PyMachine* self, std::vector<DeviceParams> devices, std::int64_t spin_ns,
             int thread_budget) {
            for (DeviceParams& device : devices)
              if (device.kind == "cuda")
                device.cuda.backend = make_ort_cuda_backend(device.cuda.ordinal);
            const MachineParams params{std::move(devices), spin_ns, thread_budget};
            new (self) PyMachine{std::make_shared<PyMachineOwner>(params)};
          },
          "devices"_a, "spin_ns"_a = 200'000, "thread_budget"_a = 0)
      .def(
          "close", [](const PyMachine& self) { self.owner->get()->close(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "Cancels the runs in flight, waits for their end and joins all threads.")
      .def_prop_ro(
          "runs_in_flight",
          [](const PyMachine& self) { return self.owner->get()->runs_in_flight(); },
          "Runs that were started and have not ended, of all plans.")
      .def_prop_ro(
          "is_lost", [](const PyMachine& self) { return self.owner->get()->is_lost(); },
          "Whether it is closed or has lost a device.")
      .def("stats", &stats);
}

void bind_builder(nb::module_& m) {
  nb::class_<PyPlanBuilder> builder(m, "PlanBuilder",
                                    "Collects nodes and values; build() checks them.");
  bind_compiled(builder);
  builder
      .def(
          "__init__",
          [](PyPlanBuilder* self, const PyMachine& machine) {
            new (self) PyPlanBuilder{machine.owner, PlanBuilder(machine.owner->get())};
          },
          "machine"_a)
      .def(
          "add_value",
          [](PyPlanBuilder& self, std::string name) {
            return self.builder.add_value(std::move(name));
          },
          "name"_a)
      .def("add_session", &add_session, "name"_a, "device"_a, "model"_a, "inputs"_a, "outputs"_a,
           "width"_a = 1, "rank"_a = 0, "service_ns"_a = 0, "launch_ns"_a = 0, "captured_ns"_a = -1,
           "level"_a = "all", "config"_a = std::map<std::string, std::string>{})
      .def(
          "add_copy",
          [](PyPlanBuilder& self, std::string name, int source_device, int target_device,
             int source, int target, std::int64_t rank) {
            return self.builder.add_copy(std::move(name), source_device, target_device, source,
                                         target, rank);
          },
          "name"_a, "source_device"_a, "target_device"_a, "source"_a, "target"_a, "rank"_a = 0)
      .def("add_work", &add_work, "name"_a, "device"_a, "after"_a = std::vector<int>{},
           "spin_ns"_a = 0, "fail"_a = false, "width"_a = 1, "rank"_a = 0)
      .def(
          "set_inputs",
          [](PyPlanBuilder& self, std::vector<int> values) {
            self.builder.set_inputs(std::move(values));
          },
          "values"_a)
      .def(
          "set_outputs",
          [](PyPlanBuilder& self, std::vector<int> values) {
            self.builder.set_outputs(std::move(values));
          },
          "values"_a)
      .def("build", [](PyPlanBuilder& self) { return PyPlan{self.owner, build(self)}; });
}

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
          "submitted_ns", [](const PyRun& self) { return self.run->submitted_ns(); },
          "When a traced run was submitted, on time.monotonic_ns()'s clock; 0 if not traced.");
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
          "uncaptured",
          [](const PyPlan& self) {
            std::map<std::uint32_t, std::string> reasons;
            for (const auto& [node, why] : self.plan->uncaptured()) reasons[node] = why;
            return reasons;
          },
          "Nodes that were to be captured and could not, and why.")
      .def("submit", &submit, "inputs"_a, "deadline_ns"_a = 0, "priority"_a = 0, "traced"_a = false,
           "completions"_a.none() = nb::none(), "tag"_a = 0)
      .def(
          "execute",
          [](const PyPlan& self, const nb::sequence& inputs, double timeout_s, bool traced) {
            return execute(self, to_values(inputs), timeout_s, traced);
          },
          "inputs"_a, "timeout_s"_a = -1.0, "traced"_a = false,
          nb::sig("def execute(self, inputs: Sequence[Value | None], timeout_s: float = -1.0, "
                  "traced: bool = False) -> Run"),
          "Runs in the calling thread and on idle lanes; the run that it returns is done.")
      .def("run", &run, "inputs"_a, "timeout_s"_a = -1.0);
}

}  // namespace

void bind_scheduler(nb::module_& m) {
  bind_machine(m);
  bind_builder(m);
  bind_run(m);
}

}  // namespace engine
