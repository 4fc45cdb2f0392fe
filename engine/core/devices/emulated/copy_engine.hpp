// One direction of an emulated link: copies one after another, through a bounded staging pool.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "devices/emulated/params.hpp"
#include "devices/emulated/timed_work.hpp"
#include "scheduler/machine.hpp"

namespace engine {

/// Copies run in the order in which they were asked for, of one moment the most urgent first. A
/// copy holds its link for its occupancy and bytes / bandwidth; the data is there a latency
/// later. Until then it holds its bytes of the staging pool, all of the pool if it is larger, and
/// a copy that finds too little of it waits, with all behind it. A pageable copy also holds the
/// submitting thread for as long as the link. The value itself is passed on: host and device
/// memory are one. Not thread-safe: belongs to its device's thread.
class CopyEngine {
 public:
  explicit CopyEngine(const LinkParams& params) : params_(params) {}

  void ask(const Task& task) { asked_.push_back(WaitingNode::of(task)); }
  /// Starts what can start at `clock_ns`; copies of stopped runs are put into `stopped`.
  void launch(std::int64_t clock_ns, std::int64_t& submitter_free_ns, std::vector<Task>& stopped);
  /// The next end of a copy, or never_ns.
  [[nodiscard]] std::int64_t next_end_ns() const noexcept;
  /// Moves out the copies that have ended by `clock_ns`.
  void take_ended(std::int64_t clock_ns, std::vector<TimedWork>& ended);
  /// Moves out the copies of stopped runs, those that run and those that wait.
  void take_stopped(std::vector<TimedWork>& ended, std::vector<Task>& waiting);
  [[nodiscard]] std::size_t waiting() const noexcept { return asked_.size() + queue_.size(); }

  template <typename Visit>
  void visit(Visit&& visit) const {
    for (const WaitingNode& w : asked_) visit(w.task);
    for (const WaitingNode& w : queue_) visit(w.task);
    for (const TimedWork& work : running_) visit(work.task);
  }

 private:
  [[nodiscard]] std::size_t staged(std::size_t size_bytes) const noexcept;
  void start(const Task& task, std::int64_t from_ns, std::int64_t& submitter_free_ns);

  const LinkParams params_;
  std::vector<WaitingNode> asked_;  ///< of this moment
  std::deque<WaitingNode> queue_;   ///< in order
  std::vector<TimedWork> running_;
  std::int64_t free_ns_ = 0;      ///< when the link lets go of its last copy
  std::size_t staged_bytes_ = 0;  ///< of the pool, in use
  bool delayed_ = false;          ///< whether the head of the queue waits for the pool
};

}  // namespace engine
