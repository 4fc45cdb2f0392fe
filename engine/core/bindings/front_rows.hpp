// What came for Python, as rows.
#pragma once

#include <nanobind/nanobind.h>

#include "frontend/python_side.hpp"

namespace engine {

/// Its fields in the order that `Frontend.take_events` says.
[[nodiscard]] nanobind::tuple row_of(const frontend::Event& event);

}  // namespace engine
