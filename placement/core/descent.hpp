// Descent: tasks, and chains of them, change devices as long as that shortens the query.
#pragma once

#include <cstdint>
#include <vector>

#include "parts.hpp"
#include "plan.hpp"

namespace placement {

/// Some tasks to another place, and the parts whose length that may change.
struct Move {
  std::vector<Index> tasks;
  Index device;
  Index first_part, last_part;
};

/// Of one plan. Every move is tried, the first that shortens the query is taken, and where a query
/// has parts one evaluation tries a move in each. Deterministic.
class Descent {
 public:
  /// The evaluator and the parts must outlive it.
  Descent(Evaluator& evaluator, const Parts& parts, Plan plan);

  /// Until no move helps, or so many plans were evaluated; how many were.
  std::int64_t run(std::int64_t evaluations);

  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }

 private:
  void find_moves();
  void add_moves(const std::vector<Index>& tasks);
  /// Tries all moves once; whether any was taken.
  [[nodiscard]] bool sweep();
  /// The next move of each part that no other of them touches; none if all were tried.
  [[nodiscard]] std::vector<const Move*> batch();
  void try_all(const std::vector<const Move*>& moves);
  /// Those of the moves whose parts are shorter in the trial.
  [[nodiscard]] std::vector<const Move*> helpful(const std::vector<const Move*>& moves,
                                                 const Plan& trial) const;
  /// The plan with the moves made; counted.
  [[nodiscard]] Plan moved(const std::vector<const Move*>& moves);
  /// Takes the trial if it is shorter.
  void take(Plan trial);

  Evaluator& evaluator_;
  const Problem& problem_;
  const Parts& parts_;
  Plan plan_;
  std::vector<Ns> lengths_;               // of the plan's parts
  std::vector<std::vector<Move>> moves_;  // by first part
  std::vector<std::size_t> tried_;        // of each part's, within a sweep
  std::int64_t left_ = 0;                 // evaluations
};

}  // namespace placement
