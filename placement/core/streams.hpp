// A device whose tasks one thread submits: a GPU and its streams; placement/streams.py has the
// rules.
#pragma once

#include <cstdint>
#include <optional>
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
  void enqueue(Index task);
  /// A running task has ended.
  void end(Index task) noexcept;
  /// Submits and starts all that can be now.
  void dispatch(Ns now_ns);

  /// Between two moments.
  void save(DeviceMoment& moment, Ns now_ns);
  void restore(const DeviceMoment& moment, Ns now_ns);

  /// When the submitting thread is free.
  [[nodiscard]] Ns free_ns(Ns now_ns) const noexcept;
  /// Keeps the submitting thread busy until then: a copy from or to pageable memory.
  void hold(Ns until_ns);

 private:
  /// What may be submitted behind a running task.
  struct Prospect {
    Key key;
    std::size_t lane;
  };

  [[nodiscard]] bool submit_one(Ns now_ns);
  [[nodiscard]] bool submit_ahead(Ns now_ns);
  void consider_successors(Index running, std::optional<Prospect>& best) const;
  /// Keeps the task if it is more urgent than the best and some lane is free when its inputs are.
  void consider(Key key, Ns inputs_ns, std::optional<Prospect>& best) const;
  /// When all that a task lacks will be there; none if it lacks more than running tasks make.
  [[nodiscard]] std::optional<Ns> inputs_ns(Index task) const;
  void submit(Index task, Ns now_ns);
  [[nodiscard]] bool start_all(Ns now_ns);
  [[nodiscard]] bool is_idle(std::size_t lane) const noexcept {
    return running_[lane] == nobody && next_[lane] == nobody;
  }

  Query* query_;
  Index device_;
  ReadyQueue queue_;
  std::vector<Index> running_, next_;  // by lane: who runs, who was submitted behind
  Ns free_ns_ = 0;
  std::vector<Ns> wakes_;       // moments at which something may start or be submitted
  std::vector<Index> started_;  // within start_all
};

}  // namespace placement
