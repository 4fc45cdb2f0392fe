// OpenVINO's kernels for a node of a plan.
#pragma once

#include <memory>
#include <string>

#include "kernels/library.hpp"

namespace engine::kernels::openvino {

/// Opens `libopenvino_c`; throws std::runtime_error saying what it lacks.
[[nodiscard]] std::unique_ptr<KernelLibrary> open(const std::string& path);

}  // namespace engine::kernels::openvino
