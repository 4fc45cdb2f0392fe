#include "moves.hpp"

#include <algorithm>
#include <array>

namespace placement {

namespace {

/// Most tasks that one change moves.
constexpr std::size_t most_at_once = 64;

/// Of a hundred changes, where each kind begins. Windows do most by far, and single tasks the rest;
/// tried on detectors and inception-like graphs of 200 to 3,000 tasks.
constexpr Index swaps_from = 4;
constexpr Index devices_from = 6;
constexpr Index exchanges_from = 36;
constexpr Index chains_from = 46;
constexpr Index gatherings_from = 49;
constexpr Index windows_from = 52;

/// How far away in the order a task looks for others at most.
constexpr Index farthest = 256;

/// By task: the only one that reads what it makes; nobody if there are none or several.
std::vector<Index> only_readers(const Problem& problem) {
  std::vector<Index> found(at(problem.task_count()), nobody);
  for (Index task = 0; task < problem.task_count(); ++task) {
    bool has_several = false;
    for (const Index tensor : problem.outputs_of(task))
      for (const Index reader : problem.consumers_of(tensor)) {
        has_several |= found[at(task)] != nobody && found[at(task)] != reader;
        found[at(task)] = reader;
      }
    if (has_several) found[at(task)] = nobody;
  }
  return found;
}

/// By task: the only one whose tensors it reads; nobody if there are none or several.
std::vector<Index> only_makers(const Problem& problem) {
  std::vector<Index> found(at(problem.task_count()), nobody);
  for (Index task = 0; task < problem.task_count(); ++task) {
    bool has_several = false;
    for (const Index tensor : problem.inputs_of(task)) {
      const Index maker = problem.tensor(tensor).producer;
      if (maker == nobody) continue;
      has_several |= found[at(task)] != nobody && found[at(task)] != maker;
      found[at(task)] = maker;
    }
    if (has_several) found[at(task)] = nobody;
  }
  return found;
}

}  // namespace

Moves::Moves(const Problem& problem, Ns most_ns)
    : problem_(problem),
      candidates_(problem, most_ns),
      replacing_(problem, candidates_),
      before_(only_makers(problem)),
      after_(only_readers(problem)) {
  for (Index task = 0; task < problem.task_count(); ++task)
    if (after_[at(task)] != nobody && before_[at(after_[at(task)])] != task)
      after_[at(task)] = nobody;
  for (Index task = 0; task < problem.task_count(); ++task)
    if (before_[at(task)] != nobody && after_[at(before_[at(task)])] != task)
      before_[at(task)] = nobody;
}

void Moves::propose(Replay& replay, Random& random) {
  if (problem_.task_count() < 1) return;
  const Index choice = random.below(candidates_.movable().empty() ? devices_from : 100);
  if (choice < swaps_from) return shift(replay, random);
  if (choice < devices_from) return swap(replay, random);
  if (choice < exchanges_from) return flip(replay, random);
  if (choice < chains_from) return exchange(replay, random);
  if (choice < gatherings_from) return flip_chain(replay, random);
  if (choice < windows_from) return gather(replay, random);
  replacing_.propose(replay, random);
}

void Moves::flip(Replay& replay, Random& random) const {
  const Index task = any_movable(random);
  replay.place(task, other_device(replay, random, task));
}

/// The maker and the readers of a tensor come together.
void Moves::gather(Replay& replay, Random& random) const {
  const Index task = any_movable(random);
  const auto inputs = problem_.inputs_of(task);
  const auto outputs = problem_.outputs_of(task);
  const auto count = static_cast<Index>(inputs.size() + outputs.size());
  if (count == 0) return;
  const std::size_t place = at(random.below(count));
  const Index tensor = place < inputs.size() ? inputs[place] : outputs[place - inputs.size()];
  const Index device = other_device(replay, random, task);
  if (const Index maker = problem_.tensor(tensor).producer; maker != nobody)
    place_if(replay, maker, device);
  const auto readers = problem_.consumers_of(tensor);
  for (const Index reader : readers.first(std::min(readers.size(), most_at_once)))
    place_if(replay, reader, device);
}

/// A task and some of those before and after it that nothing else stands between.
void Moves::flip_chain(Replay& replay, Random& random) const {
  const Index task = any_movable(random);
  const Index device = other_device(replay, random, task);
  const bool takes_all = random.chance(0.5);
  for (const std::vector<Index>* next : {&before_, &after_}) {
    Index other = (*next)[at(task)];
    for (std::size_t left = most_at_once; other != nobody && left > 0; --left) {
      if (!takes_all && random.chance(0.3)) break;
      place_if(replay, other, device);
      other = (*next)[at(other)];
    }
  }
  replay.place(task, device);
}

/// Two tasks of about the same time change devices, and maybe ranks, too.
void Moves::exchange(Replay& replay, Random& random) const {
  const Index task = any_movable(random);
  const Index here = replay.device(task);
  for (int looks = 8; looks > 0; --looks) {
    const Index other = replay.task_at(rank_near(random, replay.rank(task)));
    const Index there = replay.device(other);
    if (there == here || !candidates_.allows(other, here) || !candidates_.allows(task, there))
      continue;
    replay.place(task, there);
    replay.place(other, here);
    if (random.chance(0.5)) replay.swap_ranks(task, other);
    return;
  }
}

void Moves::shift(Replay& replay, Random& random) const {
  const Index task = random.below(problem_.task_count());
  replay.shift(task, rank_near(random, replay.rank(task)));
}

/// Two tasks of one device change ranks.
void Moves::swap(Replay& replay, Random& random) const {
  const Index task = random.below(problem_.task_count());
  for (int looks = 8; looks > 0; --looks) {
    const Index other = replay.task_at(rank_near(random, replay.rank(task)));
    if (other == task || home(replay, other) != home(replay, task)) continue;
    return replay.swap_ranks(task, other);
  }
}

/// The device that a task is on, however wide.
Index Moves::home(const Replay& replay, Index task) const {
  return problem_.home(replay.device(task));
}

void Moves::place_if(Replay& replay, Index task, Index device) const {
  if (candidates_.allows(task, device)) replay.place(task, device);
}

Index Moves::any_movable(Random& random) const {
  const std::vector<Index>& movable = candidates_.movable();
  return movable[at(random.below(static_cast<Index>(movable.size())))];
}

/// One of a movable task's places at which it is not: another device, or another width.
Index Moves::other_device(const Replay& replay, Random& random, Index task) const {
  const auto devices = candidates_.devices(task);
  const std::size_t place = at(random.below(static_cast<Index>(devices.size()) - 1));
  const auto here = std::ranges::find(devices, replay.device(task));
  const bool is_behind = place >= static_cast<std::size_t>(here - devices.begin());
  return devices[place + (is_behind ? 1 : 0)];
}

/// Short distances as often as long ones.
Index Moves::rank_near(Random& random, Index rank) const {
  Index reach = 2;
  while (reach < farthest && random.chance(0.7)) reach *= 2;
  const Index distance = 1 + random.below(reach);
  const Index wanted = random.chance(0.5) ? rank - distance : rank + distance;
  return std::clamp(wanted, Index{0}, problem_.task_count() - 1);
}

}  // namespace placement
