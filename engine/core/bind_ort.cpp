#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind_value.hpp"
#include "ort_runtime.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

void bind_ort(nb::module_& m) {
  m.def("open_runtime", &ort::open_runtime, "library_path"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        R"(Load ONNX Runtime once per process: env, shared CPU arena, telemetry off.

Parameters
----------
library_path : path of ``libonnxruntime.so.*``; the same path again does nothing.

Raises
------
RuntimeError : the library is missing or too old, or another one is already open.)");
  m.def("runtime_version", &ort::runtime_version, "Version of the open library, as '1.31.1'.");
}

}  // namespace engine
