// Libraries of operators that ONNX Runtime does not bring along.
#pragma once

#include <string>
#include <vector>

namespace engine::ort {

/// Has every session that is made from now on know the operators of a library; again, nothing
/// happens. It stays open until the process ends. Thread-safe. Throws std::runtime_error with ONNX
/// Runtime's reason if it is no such library, and nothing changes.
void add_custom_operators(const std::string& library_path);

/// Paths of those that were added, in their order.
[[nodiscard]] std::vector<std::string> custom_operators();

}  // namespace engine::ort
