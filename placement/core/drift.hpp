// Drift: random changes of a plan, kept in each part of the query in which they help.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "combination.hpp"

namespace placement {

/// Of one plan. Each step puts about one task of each part on another device and shakes the order
/// of some; with many parts, one evaluation tries a change in each. Equal seeds do the same.
class Drift {
 public:
  /// The evaluator and the parts must outlive it.
  Drift(Evaluator& evaluator, const Parts& parts, const Plan& plan, std::uint64_t seed);

  /// So many evaluations.
  void run(std::int64_t evaluations);
  /// The best plan of which an evaluation is known; never longer than the first one.
  [[nodiscard]] const Plan& plan() const noexcept { return best_; }

 private:
  /// Devices, ranks within parts, and lengths of parts as far as they are known one by one.
  struct State {
    std::vector<std::int64_t> device_of, priority;
    std::vector<Ns> lengths_ns;
  };

  [[nodiscard]] State state_of(const Plan& plan) const;
  /// The state with about one change in each part.
  [[nodiscard]] State changed();
  void change_devices(State& state);
  void change_order(State& state);
  /// Ranks by keys, one part after another, so that a part's ranks are always the same numbers.
  [[nodiscard]] std::vector<std::int64_t> ranks_by_part(const std::vector<double>& keys) const;
  /// Takes the parts of another state that are shorter; whether there are any.
  [[nodiscard]] bool take_parts(const State& other);
  /// Evaluates the state; where that is no better than the best plan, goes back to that.
  void prove();
  /// Evaluates a state.
  [[nodiscard]] Plan evaluated(State& state);
  /// From 0 to below 1.
  [[nodiscard]] double uniform();

  Evaluator& evaluator_;
  const Problem& problem_;
  const Parts& parts_;
  Plan best_;
  State state_;
  std::vector<Index> size_of_;  // of each part, in tasks
  std::mt19937_64 random_;
};

}  // namespace placement
