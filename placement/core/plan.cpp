#include "plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace placement {

Plan plan_of(Evaluator& evaluator, std::vector<std::int64_t> device_of,
             std::vector<std::int64_t> priority) {
  Plan plan{std::move(device_of), std::move(priority), {}, 0};
  plan.schedule = evaluator.schedule({plan.device_of, plan.priority});
  for (const Ns end_ns : plan.schedule.end_ns)
    plan.makespan_ns = std::max(plan.makespan_ns, end_ns);
  for (const Copy& copy : plan.schedule.copies)
    plan.makespan_ns = std::max(plan.makespan_ns, copy.end_ns);
  return plan;
}

std::vector<std::int64_t> ranks_by_start(const Plan& plan) {
  std::vector<std::size_t> order(plan.priority.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t task) {
    return std::tuple(plan.schedule.start_ns[task], plan.priority[task]);
  });
  std::vector<std::int64_t> ranks(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    ranks[order[rank]] = static_cast<std::int64_t>(rank);
  return ranks;
}

}  // namespace placement
