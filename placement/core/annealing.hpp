// Simulated annealing over where tasks run and in which order: searches on until it is told to
// stop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "best_plan.hpp"
#include "limits.hpp"
#include "room.hpp"

namespace placement {

struct AnnealingParams {
  std::uint64_t seed = 0;
  std::int64_t evaluations = 0;  ///< most of each thread; 0: no limit
  Ns time_ns = 0;                ///< on a steady clock; 0: no limit
  int threads = 1;
  Ns target_ns = 0;  ///< a plan of that length ends the search: no shorter one is looked for
};

/// Runs in threads of its own, a chain each, from its construction on. Thread-safe.
class Annealing {
 public:
  /// The problem must outlive it. Throws std::invalid_argument if the placement cannot be run,
  /// does not fit into the room, or no limit is given.
  Annealing(const Problem& problem, const Placed& start, Constants constants,
            const AnnealingParams& params);
  /// Cancels, and waits for the threads.
  ~Annealing();
  Annealing(const Annealing&) = delete;
  Annealing& operator=(const Annealing&) = delete;

  /// Blocks until all threads are done, or so long; whether they are. Rethrows what ended one.
  [[nodiscard]] bool wait(Ns most_ns);
  /// Does not wait.
  void cancel() noexcept;

  [[nodiscard]] Ns best_ns() const noexcept { return best_.makespan_ns(); }
  /// The best so far.
  [[nodiscard]] RankedPlacement best() const { return best_.plan(); }
  // Relaxed: a count, which orders nothing.
  [[nodiscard]] std::int64_t evaluations() const noexcept {
    return evaluations_.load(std::memory_order_relaxed);
  }

 private:
  void run(std::uint64_t number) noexcept;

  const Problem& problem_;
  const Constants constants_;
  const AnnealingParams params_;
  Limits limits_;
  BestPlan best_;
  std::atomic<std::int64_t> evaluations_{0};
  std::mutex mutex_;
  std::condition_variable done_;
  int running_ = 0;
  std::exception_ptr failed_;
  std::vector<std::jthread> threads_;  // last, so that they are joined first
};

}  // namespace placement
