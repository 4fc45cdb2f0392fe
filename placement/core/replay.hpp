// A placement that changes a little at a time, played again only from where a change begins to
// matter to where it no longer does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "simulation.hpp"

namespace placement {

/// Holds a placement and its schedule. A change is made of several steps, evaluated, and then kept
/// or undone. Some moments of the schedule are saved: a change is played from the last one before
/// its tasks' inputs are made, and no further than to one at which all stands as it stood before,
/// sooner or later: from there on the rest is the same. Used by one thread at a time.
class Replay {
 public:
  /// Both must be of the same problem, which must outlive it. Throws as Simulation::run.
  Replay(const Problem& problem, const Placed& placed);

  /// Another placement, kept at once.
  void reset(const Placed& placed);

  /// Of the placement that is kept.
  [[nodiscard]] Ns makespan_ns() const noexcept { return makespan_ns_; }
  [[nodiscard]] Ns start_ns(Index task) const noexcept { return start_ns_[at(task)]; }
  [[nodiscard]] Ns end_ns(Index task) const noexcept { return end_ns_[at(task)]; }

  /// Of the placement with all changes so far.
  [[nodiscard]] Index device(Index task) const noexcept { return query_.device_of[at(task)]; }
  [[nodiscard]] Index rank(Index task) const noexcept { return query_.rank_of[at(task)]; }
  [[nodiscard]] Index task_at(Index rank) const noexcept { return query_.task_at[at(rank)]; }

  [[nodiscard]] std::span<const Index> devices() const noexcept { return query_.device_of; }
  [[nodiscard]] std::span<const Index> ranks() const noexcept { return query_.rank_of; }

  /// Puts a task on a place that can run it.
  void place(Index task, Index device);
  void swap_ranks(Index a, Index b);
  /// Gives a task a rank; those in between move up.
  void shift(Index task, Index rank);
  /// Shares out the ranks that some tasks have among them, the lowest to the first.
  void line_up(const std::vector<Index>& tasks);
  [[nodiscard]] bool is_changed() const noexcept { return !changed_.empty(); }

  /// Makespan of what was changed; none if it is above the limit, or too long for any clock.
  [[nodiscard]] std::optional<Ns> evaluate(Ns limit_ns);
  /// After evaluate() found a makespan.
  void keep();
  void undo();

 private:
  struct Changed {
    Index task, device_before;
  };
  struct Kept {
    Ns at_ns;
    std::unique_ptr<Saved> saved;
  };
  struct Met {
    std::size_t saved;  ///< index of the moment at which all is as it was
    Ns later_ns;        ///< how much later; may be negative
  };

  void mark(Index task);
  void rerank(Index task, Index rank);
  [[nodiscard]] Ns first_effect_ns() const noexcept;
  [[nodiscard]] std::size_t saved_before(Ns ns) const noexcept;
  void go_back();
  [[nodiscard]] double work_ns(Index task, Index device) const noexcept;
  /// Plays on; the makespan, if that is within the limit. Moments are saved if `keeps`.
  [[nodiscard]] std::optional<Ns> play(Ns limit_ns, bool keeps);
  /// What was found, checked against what the work that is left would have taken.
  [[nodiscard]] std::optional<Ns> within(Ns found_ns, Ns limit_ns) const;
  void save();
  void take_times();
  void take_moments();
  void move_work();
  void spare(std::size_t first, std::size_t end);
  void forget_change();

  const Problem& problem_;
  Simulation simulation_;
  Query& query_;
  Index spacing_;            // tasks that end between two moments, at least
  bool counts_thread_;       // whether a task may be noticed while its inputs are still being made
  bool depends_on_use_;      // whether it matters which devices are used at all
  std::vector<Index> uses_;  // tasks by device
  std::vector<Ns> start_ns_, end_ns_;
  Ns makespan_ns_ = 0;
  std::vector<Kept> saved_, fresh_;
  std::vector<std::unique_ptr<Saved>> spare_;
  Moment scratch_;

  // of the change
  std::vector<Changed> changed_;
  std::vector<char> is_changed_;                   // by task
  std::vector<std::pair<Index, Index>> reranked_;  // task and rank before, as it was done
  std::vector<Index> ranks_;                       // within line_up
  bool use_changed_ = false;
  std::size_t from_ = 0;  // moments before the one that was gone back to, itself included
  std::optional<Met> met_;
};

}  // namespace placement
