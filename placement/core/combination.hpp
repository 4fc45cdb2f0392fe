// Puts together what several plans do best.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parts.hpp"
#include "plan.hpp"

namespace placement {

/// What choosing parts goes by: where a plan has its tasks, and how long its parts take.
struct PartLengths {
  std::span<const std::int64_t> device_of;
  std::vector<Ns> lengths_ns;
};

/// Of which plan each part is shortest, such that tasks which close parts are where both sides have
/// them; the first among equals. There must be a plan.
[[nodiscard]] std::vector<std::size_t> shortest_parts(Index place_count, const Parts& parts,
                                                      std::span<const PartLengths> plans);

/// The plan that these parts make. By the plans' own lengths of parts, so where parts touch each
/// other it may be longer than the best of them. There must be one.
[[nodiscard]] Plan combined(Evaluator& evaluator, const Parts& parts, std::span<const Plan> plans);

}  // namespace placement
