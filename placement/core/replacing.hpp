// Large neighbourhoods: a window of tasks is freed and placed anew.
#pragma once

#include <vector>

#include "candidates.hpp"
#include "random.hpp"
#include "replay.hpp"

namespace placement {

/// Frees tasks that stand together in the order or in the graph, and puts them one by one where
/// each would end first, more or less; their planned starts become their order. What is outside
/// stays as it is, and lanes are free to the window alone: an estimate, which the replay judges.
/// Used by one thread at a time.
class Replacing {
 public:
  /// Both must outlive it.
  Replacing(const Problem& problem, const Candidates& candidates);

  void propose(Replay& replay, Random& random);

 private:
  void take_by_rank(const Replay& replay, Random& random, Index count);
  void take_by_graph(Random& random, Index count);
  void find_free(const Replay& replay);
  void put(Replay& replay, Random& random, Index task);
  [[nodiscard]] double ready_ns(const Replay& replay, Index task, Index device) const;
  void add(Index task);

  const Problem& problem_;
  const Candidates& candidates_;
  std::vector<Index> window_;
  std::vector<char> is_in_;                // by task
  std::vector<double> start_ns_, end_ns_;  // by task of the window
  std::vector<double> free_ns_;            // by device
  double first_ns_ = 0;                    // start of the window
};

}  // namespace placement
