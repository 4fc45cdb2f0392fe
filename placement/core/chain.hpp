// One chain of simulated annealing.
#pragma once

#include <atomic>
#include <cstdint>

#include "best_plan.hpp"
#include "limits.hpp"
#include "moves.hpp"
#include "random.hpp"
#include "replay.hpp"
#include "room.hpp"

namespace placement {

/// Changes a plan a little, keeps what is shorter, and what is longer the more seldom the longer it
/// is and the later it comes. Now and then it looks at what other chains have found. Used by one
/// thread; chains share `best` and `limits`, which must outlive it, as must the problem.
class Chain {
 public:
  /// Throws as Simulation::run.
  Chain(const Problem& problem, const Constants& constants, const RankedPlacement& start,
        std::uint64_t seed, const Limits& limits, BestPlan& best);

  /// Until it is over, or a plan is as short as the target. `evaluations` is counted up.
  void run(Ns target_ns, std::atomic<std::int64_t>& evaluations);

 private:
  void try_change(double temperature_ns);
  void take_stock(double temperature_ns);
  void line_up();
  [[nodiscard]] bool has_room();
  void note_best();
  [[nodiscard]] RankedPlacement plan() const;

  const Problem& problem_;
  const Limits& limits_;
  BestPlan& best_;
  Random random_;
  Replay replay_;
  Moves moves_;
  Room room_;
  Simulation whole_;  // of plans whose room is looked at
  double scale_ns_;   // temperature of the beginning
};

}  // namespace placement
