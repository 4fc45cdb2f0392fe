// A device whose lanes start what is at the head of its queue; placement/simulator.py has the
// rules.
#pragma once

#include <cstdint>
#include <vector>

#include "moment.hpp"
#include "query.hpp"

namespace placement {

/// One device during a query. Which of its lanes runs a task changes no time, so they are counted.
class Lanes {
 public:
  Lanes(Query& query, Index device);

  /// Before a query.
  void reset() noexcept;
  /// A task is ready.
  void enqueue(Index task) { queue_.push(query_->key(task)); }
  /// A task has ended.
  void end(Index task) noexcept;
  /// Starts all that can start now.
  void dispatch(Ns now_ns);

  /// Between two moments.
  void save(DeviceMoment& moment);
  void restore(const DeviceMoment& moment);

  /// Says that tasks which have not started will take so much time of lanes more.
  void add_work(double lanes_ns) noexcept { work_ns_ += lanes_ns; }
  /// No query ends sooner, if all such work was added.
  [[nodiscard]] double least_end_ns(Ns now_ns) const noexcept;

 private:
  void start(Index task, std::int64_t width, Ns now_ns);
  /// Starts what ends before a wide task at the head has its lanes; whether there is any.
  [[nodiscard]] bool start_behind(std::int64_t width, Ns now_ns);
  /// When so many lanes will be free.
  [[nodiscard]] Ns free_ns(std::int64_t width);

  Query* query_;
  Index device_;
  bool has_wide_;
  std::int64_t free_;
  ReadyQueue queue_;
  std::vector<Index> running_;  // kept only where there are wide tasks
  double work_ns_ = 0;  // of tasks that have not started; doubles, since no sum is too large
  Ns last_end_ns_ = 0;  // of the task that started last
};

}  // namespace placement
