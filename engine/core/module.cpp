// The Python module engine._core.
#include <nanobind/nanobind.h>

#include "bind_value.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The native core: ONNX Runtime behind typed values, and the concurrent scheduler.";
  engine::bind_value(m);
  engine::bind_ort(m);
  engine::bind_scheduler(m);
}
