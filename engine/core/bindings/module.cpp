// The Python module surplus.engine._core.
#include <nanobind/nanobind.h>

#include "bindings/limits.hpp"
#include "bindings/plan.hpp"
#include "bindings/shared_memory.hpp"
#include "bindings/value.hpp"
#include "bindings/waiting_room.hpp"
#include "bindings/worker_link.hpp"

NB_MODULE(_core, m) {
  // Python does not promise to free what modules still hold at exit; that is no leak to warn of.
  nanobind::set_leak_warnings(false);
  m.doc() = "The native core: ONNX Runtime behind typed values, and the concurrent scheduler.";
  engine::bind_value(m);
  engine::bind_ort(m);
  engine::bind_checksum(m);
  engine::bind_detached(m);
  engine::bind_json(m);
  engine::bind_devices(m);
  engine::bind_machine(m);
  engine::bind_kernels(m);
  engine::bind_builder(m);
  engine::bind_waiting_room(m);
  engine::bind_run(m);
  engine::bind_worker_link(m);
  engine::bind_replicas(m);
  engine::bind_frontend(m);
  engine::bind_query(m);
  engine::bind_limits(m);
  engine::bind_memory(m);
  engine::bind_decisions(m);
  engine::bind_broker(m);
  engine::bind_shared_memory(m);
}
