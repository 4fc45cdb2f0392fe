// Runs of one plan that a lane answers by one call of their kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "devices/stacker.hpp"
#include "scheduler/ready_queue.hpp"
#include "scheduler/run.hpp"
#include "scheduler/stacking.hpp"

namespace engine {

/// Made where a lane has taken a run, of those that wait at that moment: nobody waits for others to
/// come. All in it are of plans that Stacking allows it to. Of the thread that holds the lane, but
/// for look().
class Stack final : public Watched {
 public:
  /// Takes further runs of the plan that wait, those next in the order, as many as gain by it and
  /// leave each one in time; `lanes` are those that may take of them now, this one included.
  /// A run that was let out with others (WaitingRoom) is answered with these alone. Returns how
  /// many it has put into the queue: somebody must come for these. Stays empty where `first` is to
  /// be answered alone; without `stacking` it is.
  int gather(ReadyQueue& queue, Run& first, const Stacking* stacking, int lanes);
  [[nodiscard]] bool empty() const noexcept { return runs_.empty(); }
  /// `first`, then the others.
  [[nodiscard]] std::span<Run* const> runs() const noexcept { return runs_; }
  /// How long it is predicted to take.
  [[nodiscard]] std::int64_t takes_ns() const noexcept { return takes_ns_; }

  /// Executes the node of each run that has not been stopped, and publishes what comes of it. Where
  /// that fails, each run is executed by itself: what is wrong with one does not fail the others.
  /// Returns how many were executed together.
  int execute(std::uint32_t index);
  /// How many runs execute() was not to pass over.
  [[nodiscard]] std::size_t asked() const noexcept { return asking_.size(); }
  void clear() noexcept { runs_.clear(); }

  /// While the kernel runs: ends it when all of its runs have ended.
  bool look(std::int64_t now_ns) noexcept override;
  void hold(std::uint32_t node) noexcept override { runs_.front()->hold(node); }
  void let_go(std::uint32_t node) noexcept override { runs_.front()->let_go(node); }

 private:
  struct Asked {
    std::uint32_t rows = 0;
    std::int64_t due_ns = 0;  ///< to be kept; RunOrder::never: none
  };

  /// Takes the others of the first one's call.
  int gather_call(ReadyQueue& queue, Run& first, const Stacking* stacking);
  [[nodiscard]] Asked asked_by(const Run& run, std::int64_t now_ns);
  void choose(Run& first, Asked all, std::span<Run* const> others, std::int64_t now_ns);
  [[nodiscard]] bool execute_together(std::uint32_t index, const PlanNode& node);
  [[nodiscard]] CancelToken* token(const Plan& plan);

  const Stacking* stacking_ = nullptr;  ///< the plan may have another one meanwhile
  std::vector<Run*> runs_;
  std::int64_t takes_ns_ = 0;
  std::vector<std::uint32_t> rows_;  ///< of each run
  std::vector<Run*> left_;           ///< taken from the queue, to be put back
  std::vector<NodeValues> values_;   ///< of each run; kept, as what is in it
  std::vector<std::size_t> asking_;  ///< places of the runs that have not been stopped
  std::vector<StackedQuery> queries_;
  std::vector<const Value*> looked_at_;
  Plan::TokenMaker tokens_maker_ = nullptr;
  std::unique_ptr<CancelToken> token_;
};

}  // namespace engine
