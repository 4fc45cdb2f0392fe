// Evaluates placements of one problem, from any threads at once.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "simulation.hpp"

namespace placement {

/// When everything happens; by task, and copies in the order of their starts.
struct Schedule {
  std::vector<Ns> ready_ns, start_ns, end_ns;
  std::vector<Copy> copies;
};

/// Thread-safe: each evaluation takes a simulation that nobody uses, or makes one. What is found
/// depends on the placement alone.
class Evaluator {
 public:
  explicit Evaluator(Problem problem) : problem_(std::move(problem)) {}
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }

  /// Both throw std::invalid_argument if the placement cannot be run, naming the task, and
  /// std::range_error if a time is 2^62 ns or more.
  [[nodiscard]] Ns makespan_ns(const Placed& placed);
  [[nodiscard]] Schedule schedule(const Placed& placed);

 private:
  /// One that has run the placement.
  [[nodiscard]] std::unique_ptr<Simulation> run(const Placed& placed);
  void give_back(std::unique_ptr<Simulation> simulation);

  const Problem problem_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Simulation>> idle_;
};

}  // namespace placement
