// A machine, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/plan.hpp"
#include "devices/cuda/params.hpp"
#include "ort/cuda.hpp"
#include "scheduler/cores.hpp"
#include "scheduler/kernel_watch.hpp"
#include "scheduler/machine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

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
    row["held"] = stats.devices[i].held;
    if (device.has_own_memory()) {
      row["replayed"] = stats.devices[i].replayed;
      row["by_lanes"] = stats.devices[i].by_lanes;
      row["opened"] = stats.devices[i].opened;
      row["refused"] = stats.devices[i].refused;
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
  nb::dict admission;
  admission["promised"] = stats.admission.promised;
  admission["kept"] = stats.admission.kept;
  admission["broken"] = stats.admission.broken;
  admission["refused"] = stats.admission.refused;
  result["admission"] = admission;
  return result;
}

/// What a GPU's values and kernels are: ONNX Runtime's.
void give_backend(DeviceParams& device) {
  auto* const own = std::any_cast<CudaParams>(&device.own);
  if (own != nullptr)
    own->backend = make_ort_cuda_backend(own->ordinal, own->allows_tf32, own->providers);
}

}  // namespace

void bind_machine(nb::module_& m) {
  m.attr("has_cuda_sessions") = true;
  nb::class_<PyMachine> machine(m, "Machine",
                                "Queues, lanes and threads of the devices of a process.");
  bind_flights(machine);
  machine
      .def(
          "__init__",
          [](PyMachine* self, std::vector<DeviceParams> devices, std::int64_t spin_ns,
             int thread_budget) {
            for (DeviceParams& device : devices) give_backend(device);
            const MachineParams params{std::move(devices), spin_ns, thread_budget};
            new (self) PyMachine{std::make_shared<PyMachineOwner>(params)};
          },
          "devices"_a, "spin_ns"_a = 200'000, "thread_budget"_a = 0)
      .def(
          "close",
          [](const PyMachine& self, bool drains, std::int64_t limit_ns) {
            if (drains) self.owner->get()->drain();
            return self.owner->get()->close(limit_ns);
          },
          "drains"_a = false, "limit_ns"_a = 0, nb::call_guard<ReleasedGil>(),
          R"(Cancels the runs in flight, or first lets them end, and joins all threads.

Gives up where runs have not ended so long after their cancel (0: never) and returns False.
Such a machine must never be destroyed.)")
      .def_prop_ro(
          "runs_in_flight",
          [](const PyMachine& self) { return self.owner->get()->runs_in_flight(); },
          "Runs that were started and have not ended, of all plans.")
      .def_prop_ro(
          "is_lost", [](const PyMachine& self) { return self.owner->get()->is_lost(); },
          "Whether it is closed or has lost a device.")
      .def(
          "has_lost",
          [](const PyMachine& self, std::uint64_t devices) {
            return self.owner->get()->has_lost(devices);
          },
          "devices"_a, "Whether it is closed or has lost one of these devices, a bit each.")
      .def_prop_ro(
          "is_stalled", [](const PyMachine& self) { return self.owner->get()->is_stalled(); },
          "Whether all lanes of a device are held: queries ended, and their operators go on.")
      .def("stats", &stats);
  m.def(
      "look_at_lanes", [](std::int64_t now_ns) { return KernelWatch::get().look(now_ns); },
      "now_ns"_a,
      R"(What a thread of ours does every 20 ms, at any time on the monotonic clock; for tests.

Ends what is due; returns whether anything was being computed, and nobody else was looking.)");
  m.def("available_cores", &available_cores,
        R"(Cores that this process may use: affinity, and the container's quota rounded up.

The tightest quota of the process's control group and of all above it counts.)");
  m.def("refuse_calls", &ReleasedGil::refuse_calls,
        R"(End every other thread that calls something that computes, from now on, by SystemExit.

At the end of the process: daemon threads that go on would abort it.)");
  m.def("refuses_calls", &ReleasedGil::refuses_calls,
        R"(Whether the process ends, and the calling thread is not the one that ends it.)");
  m.def(
      "await_calls",
      [](double limit_s) {
        return ReleasedGil::await_calls(static_cast<std::int64_t>(limit_s * 1e9));
      },
      "limit_s"_a,
      R"(Wait until no thread computes; whether all ended in time. The others never return.)");
}

}  // namespace engine
