// What Python sees of the annealing.
#pragma once

#include <nanobind/nanobind.h>

namespace placement {

/// Adds it to the module, which must have the evaluator already.
void bind_annealing(nanobind::module_& m);

}  // namespace placement
