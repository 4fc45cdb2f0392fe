// The builder of plans, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/kernels.hpp"
#include "bindings/plan.hpp"
#include "devices/work_kernel.hpp"
#include "ort/kernel.hpp"
#include "ort/plugin.hpp"
#include "ort/source.hpp"
#include "scheduler/machine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using NamedValues = std::vector<std::pair<std::string, int>>;

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
                                          std::vector<std::string> output_names,
                                          const PyKernelChoice* kernels) {
  const bool known = device >= 0 && device < machine.device_count();
  if (known && machine.device(device).opens_sessions()) {
    params.width = 1;  // lanes of a GPU are no threads
    if (kernels != nullptr) params.gpu_provider = kernels->library;
    return std::make_shared<ort::SessionSource>(std::move(params), std::move(input_names),
                                                std::move(output_names));
  }
  ort::Plugin* const plugin = plugin_of(machine, device);
  const auto of_onnx_runtime = [=] {
    return make_ort_kernel(params.model, params.is_bytes, input_names, output_names, params.width,
                           params.level, params.config, plugin);
  };
  if (kernels == nullptr) return of_onnx_runtime();
  if (params.is_bytes || !known || plugin != nullptr || machine.device(device).has_own_memory() ||
      machine.device(device).is_timed())
    throw std::invalid_argument("libraries of kernels are for files on CPUs, and for GPUs of CUDA");
  return kernels->make({.model_path = params.model,
                        .compiled_path = {},
                        .input_names = input_names,
                        .output_names = output_names,
                        .inputs = {},
                        .output_types = {},
                        .width = params.width,
                        .otherwise = of_onnx_runtime});
}

int add_session(PyPlanBuilder& self, std::string name, int device, const nb::object& model,
                const nb::sequence& inputs, const nb::sequence& outputs, int width,
                std::int64_t rank, std::int64_t service_ns, std::int64_t launch_ns,
                std::int64_t captured_ns, const std::string& level,
                const std::map<std::string, std::string>& config, const PyKernelChoice* kernels,
                std::vector<int> awaits) {
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
                .awaits = std::move(awaits),
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
  const ReleasedGil released;
  spec.kernel = make_kernel(*self.owner->get(), device,
                            {.model = std::move(source),
                             .is_bytes = is_bytes,
                             .width = width,
                             .level = level,
                             .config = config},
                            std::move(input_names), std::move(output_names), kernels);
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

}  // namespace

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
           "level"_a = "all", "config"_a = std::map<std::string, std::string>{},
           "kernels"_a = nb::none(), "awaits"_a = std::vector<int>{})
      .def(
          "add_copy",
          [](PyPlanBuilder& self, std::string name, int source_device, int target_device,
             int source, int target, std::int64_t rank, std::vector<int> awaits) {
            return self.builder.add_copy(std::move(name), source_device, target_device, source,
                                         target, rank, std::move(awaits));
          },
          "name"_a, "source_device"_a, "target_device"_a, "source"_a, "target"_a, "rank"_a = 0,
          "awaits"_a = std::vector<int>{})
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

}  // namespace engine
