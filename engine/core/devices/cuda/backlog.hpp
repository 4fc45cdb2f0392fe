// What waits for a GPU's own thread: ready nodes, and calls of other threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/parker.hpp"
#include "scheduler/run.hpp"
#include "scheduler/task.hpp"

namespace engine::cuda {

/// Ready nodes in the order of run_order.hpp, apart by what they wait for: a direction of copying
/// or a lane of a partition. For one thread.
class Backlog {
 public:
  /// Copies in are from the host and from other GPUs. From `kernels` on: those of the partitions.
  enum Queue : std::size_t { copies_in, copies_out, kernels };

  /// `executors` are the partitions' indices in the machine.
  explicit Backlog(std::vector<std::uint32_t> executors)
      : executors_(std::move(executors)), waiting_(kernels + executors_.size()) {}

  void push(const Task& task);
  [[nodiscard]] bool empty(Queue queue) const noexcept { return waiting_[queue].empty(); }
  [[nodiscard]] const Task& first(Queue queue) const { return waiting_[queue].begin()->task; }
  Task pop(Queue queue);
  /// Removes and returns the first that `suits`, of so many at most.
  template <typename Suits>
  [[nodiscard]] std::optional<Task> pop_suitable(Queue queue, int looks, const Suits& suits) {
    auto& waiting = waiting_[queue];
    for (auto at = waiting.begin(); at != waiting.end() && looks > 0; ++at, --looks) {
      if (!suits(at->task)) continue;
      const Task task = at->task;
      waiting.erase(at);
      return task;
    }
    return std::nullopt;
  }
  /// The first of any queue that has one.
  std::optional<Task> pop_any();
  [[nodiscard]] std::size_t size() const noexcept;
  /// Removes and returns the nodes of runs that were stopped.
  [[nodiscard]] std::vector<Task> take_stopped();

  [[nodiscard]] Queue queue_of(const PlanNode& node) const noexcept {
    if (node.kind == NodeKind::copy) return node.link == link_back ? copies_out : copies_in;
    return kernels_of(partition_of(node.executor));
  }
  [[nodiscard]] static Queue kernels_of(std::size_t partition) noexcept {
    return static_cast<Queue>(kernels + partition);
  }
  /// Their number if it is none of them.
  [[nodiscard]] std::size_t partition_of(std::uint32_t executor) const noexcept {
    return static_cast<std::size_t>(std::ranges::find(executors_, executor) - executors_.begin());
  }
  /// Whether the executor is one of the GPU's partitions.
  [[nodiscard]] bool is_here(std::uint32_t executor) const noexcept {
    return partition_of(executor) < executors_.size();
  }

 private:
  struct Waiting {
    std::pair<RunOrder, std::uint32_t> key;  ///< run, position in the plan
    Task task;
    bool operator<(const Waiting& other) const noexcept { return key < other.key; }
  };
  const std::vector<std::uint32_t> executors_;
  std::vector<std::set<Waiting>> waiting_;
};

/// Functions for one thread, which others wait for. Thread-safe.
class Calls {
 public:
  using Call = std::function<void()>;

  /// Wakes the thread. False, and not kept, once closed.
  bool push(Call call);
  /// Runs what is there; by the one thread.
  bool run_all();
  /// Runs what is there and refuses the rest.
  void close();
  [[nodiscard]] bool empty() const noexcept {
    return size_.load(std::memory_order_seq_cst) == 0;  // seq_cst: tested before parking
  }

  /// Where the one thread sleeps; also woken for other news.
  [[nodiscard]] EventCount& sleeper() noexcept { return sleeper_; }

 private:
  EventCount sleeper_;
  std::mutex mutex_;  // guards calls_, closed_
  std::vector<Call> calls_;
  bool closed_ = false;
  std::atomic<std::size_t> size_{0};
};

}  // namespace engine::cuda
