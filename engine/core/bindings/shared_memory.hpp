// Regions of shared memory, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>

#include "shared_memory/regions.hpp"

namespace engine {

/// What Python's `surplus.engine._core.SharedMemory` holds: whoever answers queries without Python
/// shares the table, and lets go of it without the GIL.
struct PyRegions {
  explicit PyRegions(std::size_t most) : table(std::make_shared<Regions>(most)) {}

  std::shared_ptr<Regions> table;
};

void bind_shared_memory(nanobind::module_& m);

}  // namespace engine
