// Comm+SD's choice of devices; placement/comm_sd.py has the rules, and where they depart from SIR+.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem.hpp"

namespace placement {

/// Tasks that slow down by less than `alpha_ns` on the host go there, and those whose copies make
/// that dearer come back, in at most so many passes. Throws std::invalid_argument if a default
/// device is missing or cannot run its task.
[[nodiscard]] std::vector<std::int64_t> comm_sd(const Problem& problem,
                                                std::span<const std::int64_t> default_device,
                                                Ns alpha_ns, int most_passes);

}  // namespace placement
