// A device whose tasks one thread submits: a GPU and its streams; placement/streams.py has the
// rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "moment.hpp"
#include "query.hpp"

namespace placement {

/// One device during a query.
class Streams {
 public:
  Streams(Query& query, Index device);

  /// Before a query.
  void reset() noexcept;
  /// A task's inputs are there.
  void enqueue(Index task) {
    is_due_ = true;
    if (query_->launched_ns[at(task)] < 0) queue_.push(query_->key(task));
  }
  /// A running task has ended.
  void end(Index task) noexcept;
  /// Something else has happened after which a task may be submitted or start: a moment has come,
  /// or a task lacks fewer inputs.
  void wake() noexcept { is_due_ = true; }
  /// Submits and starts all that can be now. Nothing can if nothing has happened since the last
  /// time.
  void dispatch(Ns now_ns) {
    if (is_due_) dispatch_due(now_ns);
  }

  /// Between two moments.
  void save(DeviceMoment& moment, Ns now_ns);
  void restore(const DeviceMoment& moment, Ns now_ns);

  /// When the submitting thread is free.
  [[nodiscard]] Ns free_ns(Ns now_ns) const noexcept { return std::max(now_ns, free_ns_); }
  /// Keeps the submitting thread busy until then: a copy from or to pageable memory.
  void hold(Ns until_ns) {
    free_ns_ = until_ns;
    wake_at(until_ns);
  }

 private:
  /// What may be submitted behind a running task.
  struct Prospect {
    Key key;
    std::size_t lane;
  };

  void dispatch_due(Ns now_ns);
  void wake_at(Ns moment_ns) { query_->events.push(moment_ns, Happening::wakes, device_); }
  [[nodiscard]] bool submit_one(Ns now_ns);
  [[nodiscard]] bool submit_ahead(Ns now_ns);
  void consider_successors(Index running, Prospect& best) const;
  /// Keeps a task that is more urgent than the best if some lane is free when its inputs are there.
  void consider(Key key, Ns inputs_ns, Prospect& best) const;
  /// When all that a task lacks will be there; never if it lacks more than running tasks make.
  [[nodiscard]] Ns inputs_ns(Index task) const;
  void submit(Index task, Ns now_ns);
  [[nodiscard]] bool start_all(Ns now_ns);
  /// Counts the lanes of each kind.
  void count() noexcept;

  /// Behind all tasks.
  static constexpr Key last_key{end_of_times_ns, std::numeric_limits<Index>::max()};

  Query* query_;
  Index device_;
  Ns submit_ns_;
  ReadyQueue queue_;
  std::vector<Index> running_, next_;  // by lane: who runs, who was submitted behind
  std::int64_t idle_ = 0;              // lanes without any task
  std::int64_t open_ = 0;              // that run, with nobody behind
  std::int64_t submitted_ = 0;         // for which somebody was submitted
  Ns free_ns_ = 0;
  bool is_due_ = false;         // whether anything has happened since the last dispatch
  std::vector<Index> started_;  // within start_all
};

}  // namespace placement
