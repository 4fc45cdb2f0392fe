#include "search.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "chain.hpp"
#include "combination.hpp"
#include "descent.hpp"
#include "drift.hpp"

namespace placement {

namespace {

/// By one chain, in this thread.
Plan annealed(Evaluator& evaluator, Plan plan, const Effort& effort) {
  const RankedPlacement start{plan.device_of, plan.priority, plan.makespan_ns};
  const Limits limits(effort.annealing, 0);
  BestPlan best(start);
  std::atomic<std::int64_t> evaluations{0};
  Chain(evaluator.problem(), {}, start, effort.seed, limits, best).run(0, evaluations);
  if (best.makespan_ns() == plan.makespan_ns) return plan;
  RankedPlacement found = best.plan();
  return plan_of(evaluator, std::move(found.device_of), std::move(found.priority));
}

}  // namespace

Plan searched(Evaluator& evaluator, std::vector<Proposal> proposals, const Effort& effort) {
  if (proposals.empty()) throw std::invalid_argument("search: no placement to begin with");
  const Parts parts(evaluator.problem());
  std::vector<Plan> plans;
  for (Proposal& proposal : proposals)
    plans.push_back(
        plan_of(evaluator, std::move(proposal.device_of), std::move(proposal.priority)));
  if (plans.size() > 1 && parts.count() > 1) plans.push_back(combined(evaluator, parts, plans));
  std::ranges::stable_sort(plans, {}, &Plan::makespan_ns);
  const auto twice = std::ranges::unique(plans, {}, &Plan::device_of);
  plans.erase(twice.begin(), twice.end());
  if (effort.drift > 0) {
    Drift drift(evaluator, parts, plans.front(), effort.seed);
    drift.run(effort.drift);
    plans.front() = drift.plan();
  }
  Plan best = plans.front();
  std::int64_t left = effort.descent;
  for (Plan& plan : plans) {
    if (left <= 0) break;
    Descent descent(evaluator, parts, std::move(plan));
    left -= descent.run(left);
    if (descent.plan().makespan_ns < best.makespan_ns) best = descent.plan();
  }
  if (effort.annealing > 0) best = annealed(evaluator, std::move(best), effort);
  return best;
}

}  // namespace placement
