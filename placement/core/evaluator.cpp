#include "evaluator.hpp"

#include <utility>

namespace placement {

Ns Evaluator::makespan_ns(const Placed& placed) {
  auto simulation = run(placed);
  const Ns found_ns = simulation->makespan_ns();
  give_back(std::move(simulation));
  return found_ns;
}

Schedule Evaluator::schedule(const Placed& placed) {
  auto simulation = run(placed);
  const Query& query = simulation->query();
  Schedule found{query.ready_ns, query.start_ns, query.end_ns, simulation->copies()};
  give_back(std::move(simulation));
  return found;
}

std::unique_ptr<Simulation> Evaluator::run(const Placed& placed) {
  std::unique_ptr<Simulation> simulation;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      simulation = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!simulation) simulation = std::make_unique<Simulation>(problem_);
  simulation->run(placed);  // where that throws, half a query is left, and nobody gets it
  return simulation;
}

void Evaluator::give_back(std::unique_ptr<Simulation> simulation) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(simulation));
}

}  // namespace placement
