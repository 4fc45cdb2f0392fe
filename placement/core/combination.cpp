#include "combination.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace placement {

namespace {

/// The shortest way to the end of a part that was found: which plan's part it ends with, and where
/// the task that closes the part before is.
struct Way {
  Ns length_ns = std::numeric_limits<Ns>::max();
  std::size_t plan = 0, before = 0;
};

class Combination {
 public:
  Combination(Index place_count, const Parts& parts, std::span<const PartLengths> plans)
      : parts_(parts), plans_(plans), states_(at(place_count)) {}

  /// The plan of each part.
  std::vector<std::size_t> run();

 private:
  /// Where a plan has the task that closes a part; 0 after the last one.
  std::size_t state(const PartLengths& plan, std::size_t part) const;
  void extend(std::size_t part);

  const Parts& parts_;
  std::span<const PartLengths> plans_;
  std::size_t states_;
  std::vector<std::vector<Way>> ways_;  // by part and where its last task is
};

std::size_t Combination::state(const PartLengths& plan, std::size_t part) const {
  return part < parts_.closing.size()
             ? static_cast<std::size_t>(plan.device_of[at(parts_.closing[part])])
             : 0;
}

std::vector<std::size_t> Combination::run() {
  const std::size_t count = at(parts_.count());
  for (std::size_t part = 0; part < count; ++part) extend(part);
  std::vector<std::size_t> chosen(count);
  std::size_t last = 0;
  for (std::size_t part = count; part-- > 0;) {
    chosen[part] = ways_[part][last].plan;
    last = ways_[part][last].before;
  }
  return chosen;
}

void Combination::extend(std::size_t part) {
  std::vector<Way> ways(states_);
  for (std::size_t plan = 0; plan < plans_.size(); ++plan) {
    const std::size_t before = part == 0 ? 0 : state(plans_[plan], part - 1);
    const Ns before_ns = part == 0 ? 0 : ways_.back()[before].length_ns;
    const Ns length_ns = before_ns + plans_[plan].lengths_ns[part];
    Way& way = ways[state(plans_[plan], part)];
    if (length_ns < way.length_ns) way = {length_ns, plan, before};
  }
  ways_.push_back(std::move(ways));
}

}  // namespace

std::vector<std::size_t> shortest_parts(Index place_count, const Parts& parts,
                                        std::span<const PartLengths> plans) {
  return Combination(place_count, parts, plans).run();
}

Plan combined(Evaluator& evaluator, const Parts& parts, std::span<const Plan> plans) {
  std::vector<PartLengths> known;
  for (const Plan& plan : plans)
    known.push_back({plan.device_of, lengths_ns(parts, plan.schedule, plan.makespan_ns)});
  const std::vector<std::size_t> chosen =
      shortest_parts(evaluator.problem().place_count(), parts, known);
  const auto plan_at = [&](Index task) -> const Plan& {
    return plans[chosen[at(parts.part_of[at(task)])]];
  };
  std::vector<Index> order(parts.part_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](Index task) {
    const Plan& plan = plan_at(task);
    return std::tuple(parts.part_of[at(task)], plan.schedule.start_ns[at(task)],
                      plan.priority[at(task)]);
  });
  std::vector<std::int64_t> device_of(order.size()), priority(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const Index task = order[rank];
    device_of[at(task)] = plan_at(task).device_of[at(task)];
    priority[at(task)] = static_cast<std::int64_t>(rank);
  }
  return plan_of(evaluator, std::move(device_of), std::move(priority));
}

}  // namespace placement
