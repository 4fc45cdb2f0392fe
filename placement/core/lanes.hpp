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
  void end(Index task) noexcept { free_ += has_wide_ ? end_wide(task) : 1; }
  /// Starts all that can start now.
  void dispatch(Ns now_ns) {
    if ((free_ > 0) & !queue_.empty()) start_ready(now_ns);
  }

  /// Between two moments.
  void save(DeviceMoment& moment);
  void restore(const DeviceMoment& moment);

  /// Says that tasks which have not started will take so much time of lanes more.
  void add_work(double lanes_ns) noexcept { work_ns_ += lanes_ns; }
  /// No query ends sooner, if all such work was added.
  [[nodiscard]] double least_end_ns(Ns now_ns) const noexcept;

 private:
  void start_ready(Ns now_ns) {
    if (has_wide_) return start_wide(now_ns);
    do {
      start(query_->task_at[at(queue_.pop())], 1, now_ns);
    } while ((free_ > 0) & !queue_.empty());
  }
  void start(Index task, std::int64_t width, Ns now_ns) {
    const Ns service_ns = query_->service_ns(task);
    free_ -= width;
    if (has_wide_) running_.push_back(task);
    query_->start(task, now_ns, service_ns);
    work_ns_ -= static_cast<double>(width) * static_cast<double>(service_ns);
    last_end_ns_ = query_->end_ns[at(task)];
  }
  /// As start_ready, where tasks may take several lanes.
  void start_wide(Ns now_ns);
  /// How many lanes a task had, where it matters which tasks run.
  std::int64_t end_wide(Index task) noexcept;
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
