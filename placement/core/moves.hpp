// Small changes of a placement, at random.
#pragma once

#include <vector>

#include "candidates.hpp"
#include "random.hpp"
#include "replacing.hpp"
#include "replay.hpp"

namespace placement {

/// Proposes changes: of devices and widths (a task, the tasks around a tensor, a chain, two tasks
/// that change places), of the order (a task earlier or later, two that change ranks), of both (a
/// window that is placed anew). Used by one thread at a time.
class Moves {
 public:
  /// `most_ns`: no task goes to where it cannot be in a plan of that length.
  Moves(const Problem& problem, Ns most_ns);
  Moves(const Moves&) = delete;
  Moves& operator=(const Moves&) = delete;

  /// Changes something; nothing where what it thought of cannot be.
  void propose(Replay& replay, Random& random);

 private:
  void flip(Replay& replay, Random& random) const;
  void gather(Replay& replay, Random& random) const;
  void flip_chain(Replay& replay, Random& random) const;
  void exchange(Replay& replay, Random& random) const;
  void shift(Replay& replay, Random& random) const;
  void swap(Replay& replay, Random& random) const;

  [[nodiscard]] Index home(const Replay& replay, Index task) const;
  void place_if(Replay& replay, Index task, Index device) const;
  [[nodiscard]] Index any_movable(Random& random) const;
  [[nodiscard]] Index other_device(const Replay& replay, Random& random, Index task) const;
  [[nodiscard]] Index rank_near(Random& random, Index rank) const;

  const Problem& problem_;
  Candidates candidates_;
  Replacing replacing_;
  std::vector<Index> before_,
      after_;  // by task: the only other that it waits for, that waits for it
};

}  // namespace placement
