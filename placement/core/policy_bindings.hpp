// What policies of Python ask of the core beside evaluations.
#pragma once

#include <nanobind/nanobind.h>

#include "evaluator.hpp"

namespace placement {

/// Adds it to the evaluator's class.
void bind_policies(nanobind::class_<Evaluator>& evaluator);

}  // namespace placement
