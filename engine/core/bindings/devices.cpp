// The parameters of a machine's devices, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "bindings/plan.hpp"
#include "devices/cuda/params.hpp"
#include "devices/emulated/params.hpp"
#include "devices/params.hpp"
#include "devices/plugin/params.hpp"
#include "ort/plugin.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

template <typename Params>
Params& own(DeviceParams& self) {
  return self.of<Params>();
}

}  // namespace

void bind_devices(nb::module_& m) {
  nb::class_<CudaParams>(m, "CudaOptions", "What only a device of kind \"cuda\" has.")
      .def(nb::init<>())
      .def_rw("ordinal", &CudaParams::ordinal, "CUDA's number of the GPU.")
      .def_rw("instance", &CudaParams::instance,
              "Of several devices of a machine that are the same GPU.")
      .def_rw("sms", &CudaParams::sms, "SMs of a partition of the GPU; 0 is all of it.")
      .def_rw("allows_tf32", &CudaParams::allows_tf32,
              "Whether float32 may be multiplied in TF32, faster and less exact.")
      .def_prop_rw(
          "tensorrt", [](const CudaParams& self) { return self.providers.tensorrt; },
          [](CudaParams& self, bool value) { self.providers.tensorrt = value; },
          "Whether TensorRT comes before ONNX Runtime's own kernels.")
      .def_prop_rw(
          "engines", [](const CudaParams& self) { return self.providers.engines; },
          [](CudaParams& self, const std::string& value) { self.providers.engines = value; },
          "Folder where TensorRT keeps what it compiled; empty: nowhere.")
      .def_rw("driver", &CudaParams::driver, "CUDA's driver library; empty: the usual name.")
      .def_rw("library", &CudaParams::library, "CUDA's runtime library; empty: the usual names.")
      .def_rw("reserve_bytes", &CudaParams::reserve_bytes,
              "Device memory that is taken at the start.")
      .def_rw("staging_bytes", &CudaParams::staging_bytes, "Pinned host memory for copies.")
      .def_rw("queue_depth", &CudaParams::queue_depth, "Most submissions in a stream at a time.")
      .def_rw(
          "lanes_at_once", &CudaParams::lanes_at_once,
          "On how many lanes a segment is opened with its plan; on others when queries overlap.")
      .def_rw("lane_threads", &CudaParams::lane_threads,
              "Whether each of several lanes has a thread for submissions that take long.")
      .def_rw("resets_when_lost", &CudaParams::resets_when_lost,
              "Whether closing a lost device resets CUDA, so that the GPU can be opened again.");
  nb::class_<EmulatedParams>(m, "EmulatedOptions", "What only a device of kind \"emulated\" has.")
      .def(nb::init<>())
      .def_rw("replay", &EmulatedParams::replay)
      .def_rw("submit_ns", &EmulatedParams::submit_ns)
      .def_rw("slowdown", &EmulatedParams::slowdown)
      .def_rw("first_run_ns", &EmulatedParams::first_run_ns)
      .def_rw("fail_prepare", &EmulatedParams::fail_prepare)
      .def_rw("fail_every", &EmulatedParams::fail_every)
      .def_rw("lose_at", &EmulatedParams::lose_at)
      .def_rw("capture_ns", &EmulatedParams::capture_ns)
      .def_rw("fail_capture", &EmulatedParams::fail_capture)
      .def_rw("h2d_latency_ns", &EmulatedParams::h2d_latency_ns)
      .def_rw("h2d_bytes_per_s", &EmulatedParams::h2d_bytes_per_s)
      .def_rw("h2d_occupancy_ns", &EmulatedParams::h2d_occupancy_ns)
      .def_rw("d2h_latency_ns", &EmulatedParams::d2h_latency_ns)
      .def_rw("d2h_bytes_per_s", &EmulatedParams::d2h_bytes_per_s)
      .def_rw("d2h_occupancy_ns", &EmulatedParams::d2h_occupancy_ns)
      .def_rw("staging_bytes", &EmulatedParams::staging_bytes)
      .def_rw("pageable", &EmulatedParams::pageable);
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
      .def_rw("memory_bytes", &DeviceParams::memory_bytes, "0 is unlimited.")
      .def_prop_ro("cuda", &own<CudaParams>, nb::rv_policy::reference_internal,
                   "To be set, of a device of kind \"cuda\".")
      .def_prop_ro("emulated", &own<EmulatedParams>, nb::rv_policy::reference_internal,
                   "To be set, of a device of kind \"emulated\".")
      .def_prop_rw(
          "provider", [](const DeviceParams& self) { return self.get<PluginParams>().provider; },
          [](DeviceParams& self, const std::string& name) {
            self.own = PluginParams{name, ort::Plugin::get(name).thread()};
          },
          "The provider of a device of kind \"plugin\", as named to open_plugin().");
}

}  // namespace engine
