// A placement with what it comes to, as searches hand them around.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluator.hpp"

namespace placement {

/// Devices and priorities by task, and their schedule.
struct Plan {
  std::vector<std::int64_t> device_of, priority;
  Schedule schedule;
  Ns makespan_ns = 0;
};

/// Evaluates a placement; throws as Evaluator::schedule.
[[nodiscard]] Plan plan_of(Evaluator& evaluator, std::vector<std::int64_t> device_of,
                           std::vector<std::int64_t> priority);

/// Ranks of tasks by their starts, ties by the ranks that they had.
[[nodiscard]] std::vector<std::int64_t> ranks_by_start(const Plan& plan);

}  // namespace placement
