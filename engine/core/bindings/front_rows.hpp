// What came to the front end, as tuples for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "frontend/frontend.hpp"

namespace engine {

/// Of what Python has to answer; its parts are told where it is bound.
nanobind::tuple row_of(const frontend::Event& event);

/// Of queries that were answered lately, a tuple each.
nanobind::list rows_of(const std::vector<frontend::SeenQuery>& queries);

}  // namespace engine
