#include "drift.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

namespace placement {

namespace {

/// In parts of no more tasks each is as likely to change its device as in one of so many.
constexpr Index least_size = 4;
/// The order of about so many tasks of a part is shaken, by some such places.
constexpr double shaken = 9, places = 3;
/// After so many steps what parts promise by themselves is held against what they do together.
constexpr int most_unproven = 8;

/// A task and its place in the order, not a whole number where it was shaken.
struct Moved {
  Index part;
  double key;
  Index task;
  friend bool operator<(const Moved& a, const Moved& b) noexcept {
    return std::tie(a.part, a.key, a.task) < std::tie(b.part, b.key, b.task);
  }
};

}  // namespace

Drift::Drift(Evaluator& evaluator, const Parts& parts, const Plan& plan, std::uint64_t seed)
    : evaluator_(evaluator),
      problem_(evaluator.problem()),
      parts_(parts),
      best_(plan),
      state_(state_of(plan)),
      size_of_(at(parts.count())),
      random_(seed) {
  for (const Index part : parts.part_of) ++size_of_[at(part)];
}

void Drift::run(std::int64_t evaluations) {
  int unproven = 0;
  while (evaluations > 0) {
    State trial = changed();
    Plan plan = evaluated(trial);
    --evaluations;
    if (plan.makespan_ns < best_.makespan_ns) best_ = std::move(plan);
    if (take_parts(trial)) ++unproven;
    if (unproven == 0 || (unproven < most_unproven && evaluations != 1)) continue;
    if (evaluations == 0) return;
    prove();
    --evaluations;
    unproven = 0;
  }
}

void Drift::prove() {
  Plan together = evaluated(state_);
  if (together.makespan_ns < best_.makespan_ns)
    best_ = std::move(together);
  else
    state_ = state_of(best_);
}

Drift::State Drift::state_of(const Plan& plan) const {
  const std::vector<std::int64_t> ranks = ranks_by_start(plan);
  return {plan.device_of, ranks_by_part({ranks.begin(), ranks.end()}),
          lengths_ns(parts_, plan.schedule, plan.makespan_ns)};
}

Drift::State Drift::changed() {
  State trial{state_.device_of, state_.priority, {}};
  change_devices(trial);
  change_order(trial);
  return trial;
}

void Drift::change_devices(State& state) {
  const Index place_count = problem_.place_count();
  for (Index task = 0; task < problem_.task_count(); ++task) {
    const Index size = std::max(least_size, size_of_[at(parts_.part_of[at(task)])]);
    if (uniform() * size >= 1) continue;
    const auto device = static_cast<Index>(uniform() * place_count);
    if (problem_.can_run(task, device)) state.device_of[at(task)] = device;
  }
}

void Drift::change_order(State& state) {
  const std::size_t count = state.priority.size();
  std::vector<Moved> order(count);
  for (std::size_t task = 0; task < count; ++task) {
    const Index part = parts_.part_of[task];
    auto key = static_cast<double>(state.priority[task]);
    if (uniform() * size_of_[at(part)] < shaken)
      key += places * 2 * (uniform() + uniform() + uniform() - 1.5);
    order[static_cast<std::size_t>(state.priority[task])] = {part, key, static_cast<Index>(task)};
  }
  // Nearly sorted, which an insertion is fast for.
  for (std::size_t place = 1; place < count; ++place)
    for (std::size_t to = place; to > 0 && order[to] < order[to - 1]; --to)
      std::swap(order[to], order[to - 1]);
  for (std::size_t rank = 0; rank < count; ++rank)
    state.priority[at(order[rank].task)] = static_cast<std::int64_t>(rank);
}

std::vector<std::int64_t> Drift::ranks_by_part(const std::vector<double>& keys) const {
  std::vector<Index> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](Index task) {
    return std::tuple(parts_.part_of[at(task)], keys[at(task)], task);
  });
  std::vector<std::int64_t> ranks(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    ranks[at(order[rank])] = static_cast<std::int64_t>(rank);
  return ranks;
}

bool Drift::take_parts(const State& other) {
  const std::array<PartLengths, 2> both{PartLengths{state_.device_of, state_.lengths_ns},
                                        PartLengths{other.device_of, other.lengths_ns}};
  const auto chosen = shortest_parts(problem_.place_count(), parts_, both);
  const auto is_others = [&](Index part) { return chosen[at(part)] == 1; };
  bool takes_any = false;
  for (Index part = 0; part < parts_.count(); ++part) {
    if (!is_others(part)) continue;
    takes_any = true;
    state_.lengths_ns[at(part)] = other.lengths_ns[at(part)];
  }
  for (Index task = 0; task < problem_.task_count(); ++task) {
    if (!is_others(parts_.part_of[at(task)])) continue;
    state_.device_of[at(task)] = other.device_of[at(task)];
    state_.priority[at(task)] = other.priority[at(task)];
  }
  return takes_any;
}

Plan Drift::evaluated(State& state) {
  Plan plan = plan_of(evaluator_, state.device_of, state.priority);
  state.lengths_ns = lengths_ns(parts_, plan.schedule, plan.makespan_ns);
  return plan;
}

double Drift::uniform() {
  // The standard's distributions differ from one library to another.
  return static_cast<double>(random_() >> 11) * 0x1p-53;
}

}  // namespace placement
