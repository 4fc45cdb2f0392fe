// Lines to processes that run models, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "isolation/worker_link.hpp"

namespace engine {

class AnswersForPython;

/// What Python's `surplus.engine._core.WorkerLink` holds, with what it asks itself.
struct PyWorkerLink {
  std::shared_ptr<isolation::WorkerLink> link;
  std::shared_ptr<AnswersForPython> answers;
};

void bind_worker_link(nanobind::module_& m);

}  // namespace engine
