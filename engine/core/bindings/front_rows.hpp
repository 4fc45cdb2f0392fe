// What came for Python, and what was answered without it, as rows.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "frontend/python_side.hpp"
#include "frontend/recent_queries.hpp"

namespace engine {

/// Its fields in the order that `Frontend.take_events` says.
[[nodiscard]] nanobind::tuple row_of(const frontend::Event& event);
/// Theirs in the order that `Frontend.recent` says.
[[nodiscard]] nanobind::list rows_of(const std::vector<frontend::SeenQuery>& queries);

}  // namespace engine
