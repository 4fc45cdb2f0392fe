// Who makes a call, for who answers it.
#pragma once

#include <string>
#include <vector>

#include "frontend/call.hpp"

namespace engine::frontend {

/// Names in the certificate that its connection has shown.
[[nodiscard]] inline std::vector<std::string> names_of(const Call& call) {
  return call.certificate_names == nullptr ? std::vector<std::string>() : *call.certificate_names;
}

}  // namespace engine::frontend
