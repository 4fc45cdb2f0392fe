#include "descent.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace placement {

namespace {

/// The only task that reads what a task makes; nobody if there are others, or none.
Index only_reader(const Problem& problem, Index task) {
  Index only = nobody;
  for (const Index tensor : problem.outputs_of(task))
    for (const Index reader : problem.consumers_of(tensor)) {
      if (only != nobody && reader != only) return nobody;
      only = reader;
    }
  return only;
}

/// The only task that a task waits for; nobody if there are others, or none.
Index only_maker(const Problem& problem, Index task) {
  Index only = nobody;
  for (const Index tensor : problem.inputs_of(task)) {
    const Index maker = problem.tensor(tensor).producer;
    if (maker == nobody) continue;
    if (only != nobody && maker != only) return nobody;
    only = maker;
  }
  return only;
}

/// Longest paths of tasks of which each is the only one to follow the one before; two or more.
std::vector<std::vector<Index>> chains(const Problem& problem) {
  const auto next = [&](Index task) {
    const Index reader = only_reader(problem, task);
    return reader != nobody && only_maker(problem, reader) == task ? reader : nobody;
  };
  std::vector<std::vector<Index>> found;
  std::vector<char> is_in_one(at(problem.task_count()));
  for (Index first = 0; first < problem.task_count(); ++first) {
    if (is_in_one[at(first)]) continue;
    std::vector<Index> chain;
    for (Index task = first; task != nobody; task = next(task)) {
      is_in_one[at(task)] = 1;
      chain.push_back(task);
    }
    if (chain.size() > 1) found.push_back(std::move(chain));
  }
  return found;
}

}  // namespace

Descent::Descent(Evaluator& evaluator, const Parts& parts, Plan plan)
    : evaluator_(evaluator),
      problem_(evaluator.problem()),
      parts_(parts),
      plan_(std::move(plan)),
      lengths_(lengths_ns(parts, plan_.schedule, plan_.makespan_ns)),
      moves_(at(parts.count())),
      tried_(at(parts.count())) {
  find_moves();
}

void Descent::find_moves() {
  for (const auto& chain : chains(problem_)) add_moves(chain);
  for (Index task = 0; task < problem_.task_count(); ++task) add_moves({task});
}

void Descent::add_moves(const std::vector<Index>& tasks) {
  const auto part = [&](Index task) { return parts_.part_of[at(task)]; };
  // A chain's tasks ascend, and so do their parts.
  const Index last = tasks.back();
  const Index last_part = part(last) + (parts_.closes(last) ? 1 : 0);
  for (Index device = 0; device < problem_.place_count(); ++device) {
    Move move{{}, device, part(tasks.front()), last_part};
    for (const Index task : tasks)
      if (problem_.can_run(task, device)) move.tasks.push_back(task);
    if (!move.tasks.empty()) moves_[at(move.first_part)].push_back(std::move(move));
  }
}

std::int64_t Descent::run(std::int64_t evaluations) {
  left_ = evaluations;
  while (left_ > 0 && sweep()) {
    if (left_ == 0) break;
    --left_;
    take(plan_of(evaluator_, plan_.device_of, ranks_by_start(plan_)));
  }
  return evaluations - left_;
}

bool Descent::sweep() {
  std::ranges::fill(tried_, 0);
  const Ns before_ns = plan_.makespan_ns;
  while (left_ > 0) {
    const auto moves = batch();
    if (moves.empty()) break;
    try_all(moves);
  }
  return plan_.makespan_ns < before_ns;
}

std::vector<const Move*> Descent::batch() {
  const auto changes = [&](const Move& move) {
    return std::ranges::any_of(
        move.tasks, [&](Index task) { return plan_.device_of[at(task)] != move.device; });
  };
  std::vector<const Move*> found;
  Index free = 0;
  for (Index part = 0; part < parts_.count(); ++part) {
    const auto& moves = moves_[at(part)];
    std::size_t& next = tried_[at(part)];
    while (next < moves.size() && !changes(moves[next])) ++next;
    if (part < free || next == moves.size()) continue;
    found.push_back(&moves[next++]);
    free = found.back()->last_part + 1;
  }
  return found;
}

void Descent::try_all(const std::vector<const Move*>& moves) {
  Plan trial = moved(moves);
  const auto kept = helpful(moves, trial);
  if (kept.empty()) return;
  if (kept.size() == moves.size()) {
    take(std::move(trial));
    return;
  }
  if (left_ > 0) take(moved(kept));
}

std::vector<const Move*> Descent::helpful(const std::vector<const Move*>& moves,
                                          const Plan& trial) const {
  const std::vector<Ns> lengths = lengths_ns(parts_, trial.schedule, trial.makespan_ns);
  const auto gain_ns = [&](const Move* move) {
    Ns sum_ns = 0;
    for (Index part = move->first_part; part <= move->last_part; ++part)
      sum_ns += lengths_[at(part)] - lengths[at(part)];
    return sum_ns;
  };
  std::vector<const Move*> kept;
  std::ranges::copy_if(moves, std::back_inserter(kept),
                       [&](const Move* move) { return gain_ns(move) > 0; });
  return kept;
}

Plan Descent::moved(const std::vector<const Move*>& moves) {
  --left_;
  auto device_of = plan_.device_of;
  for (const Move* move : moves)
    for (const Index task : move->tasks) device_of[at(task)] = move->device;
  return plan_of(evaluator_, std::move(device_of), plan_.priority);
}

void Descent::take(Plan trial) {
  if (trial.makespan_ns >= plan_.makespan_ns) return;
  plan_ = std::move(trial);
  lengths_ = lengths_ns(parts_, plan_.schedule, plan_.makespan_ns);
}

}  // namespace placement
