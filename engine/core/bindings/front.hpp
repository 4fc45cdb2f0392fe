// What a front end is made of, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "frontend/access.hpp"
#include "frontend/answer_cache.hpp"
#include "frontend/front_model.hpp"
#include "frontend/route.hpp"
#include "tls/context.hpp"

namespace engine {

struct PyRoute {
  std::shared_ptr<frontend::Route> route = std::make_shared<frontend::Route>();
};
struct PyFrontModel {
  frontend::FrontModelPtr model;
};
struct PyFrontTally {
  std::shared_ptr<frontend::FrontTally> tally = std::make_shared<frontend::FrontTally>();
};
struct PyAnswerCache {
  std::shared_ptr<frontend::AnswerCache> cache;
};
struct PyTlsContext {
  std::shared_ptr<const tls::Context> context;
};

struct PyAccess {
  std::shared_ptr<const frontend::Access> access;
};

/// Whatever bytes a client sent.
[[nodiscard]] inline nanobind::object text(const std::string& bytes) {
  return nanobind::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

void bind_access(nanobind::module_& m);
void bind_answer_cache(nanobind::module_& m);
void bind_front_parts(nanobind::module_& m);
void bind_recent_queries(nanobind::module_& m);

}  // namespace engine
