// Lines to what answers queries elsewhere, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "isolation/worker_link.hpp"

namespace engine {

class AnswersForPython;

/// What Python's `surplus.engine._core.QueryLink` holds, with what it asks itself.
struct PyQueryLink {
  std::shared_ptr<isolation::QueryLink> link;
  std::shared_ptr<AnswersForPython> answers;
};
struct PyWorkerLink : PyQueryLink {};
struct PyReplicas : PyQueryLink {};

[[nodiscard]] std::shared_ptr<AnswersForPython> answers_for_python();

void bind_worker_link(nanobind::module_& m);
/// Behind the former.
void bind_replicas(nanobind::module_& m);

}  // namespace engine
