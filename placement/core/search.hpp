// From what policies propose to one plan.
#pragma once

#include <cstdint>
#include <vector>

#include "plan.hpp"

namespace placement {

/// Devices and priorities by task.
struct Proposal {
  std::vector<std::int64_t> device_of, priority;
};

/// How many evaluations a search may use beside one for each proposal.
struct Effort {
  std::int64_t drift = 0;      ///< of random changes (drift.hpp)
  std::int64_t descent = 0;    ///< of systematic ones (descent.hpp)
  std::int64_t annealing = 0;  ///< of small ones, played where they matter (chain.hpp)
  std::uint64_t seed = 0;      ///< of the random ones
};

/// The shortest of the proposals and of what their parts make together (combination.hpp), the first
/// among equals; then drift from it, descent from that, and, where descent ends before its
/// evaluations are used up, from the next best proposal; annealing from the best of all. There must
/// be a proposal; throws as Evaluator::schedule.
[[nodiscard]] Plan searched(Evaluator& evaluator, std::vector<Proposal> proposals,
                            const Effort& effort);

}  // namespace placement
