// What waits for a GPU's submitting thread: ready nodes, and calls of other threads.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "parker.hpp"
#include "run.hpp"
#include "task.hpp"

namespace engine::cuda {

/// Ready nodes in the order of run_order.hpp, apart by what they wait for: a lane or a direction of
/// copying. For one thread.
class Backlog {
 public:
  enum Queue : std::size_t { kernels, copies_in, copies_out, queues };

  void push(const Task& task);
  [[nodiscard]] bool empty(Queue queue) const noexcept { return waiting_[queue].empty(); }
  [[nodiscard]] const Task& first(Queue queue) const { return waiting_[queue].begin()->task; }
  Task pop(Queue queue);
  [[nodiscard]] std::size_t size() const noexcept;
  /// Removes and returns the nodes of runs that were stopped.
  [[nodiscard]] std::vector<Task> take_stopped();

  [[nodiscard]] static Queue queue_of(const PlanNode& node) noexcept {
    if (node.kind != NodeKind::copy) return kernels;
    return node.link == 0 ? copies_in : copies_out;
  }

 private:
  struct Waiting {
    std::pair<RunOrder, std::uint32_t> key;  ///< run, position in the plan
    Task task;
    bool operator<(const Waiting& other) const noexcept { return key < other.key; }
  };
  std::array<std::set<Waiting>, queues> waiting_;
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
