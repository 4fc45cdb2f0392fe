// What a node made ready on other devices than its own, until it is handed on.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/machine.hpp"
#include "scheduler/run.hpp"

namespace engine {

/// Of one thread, which completes nodes.
class ReadyNodes {
 public:
  void note(std::uint32_t executor, const Task& task) { nodes_.emplace_back(executor, task); }

  /// What Run::complete() is to call for each that becomes ready.
  [[nodiscard]] auto noting(Run& run, std::int64_t end_ns) {
    return [this, &run, end_ns](std::uint32_t index, const PlanNode& next) {
      if (run.traced()) run.trace_ready(index, end_ns);
      note(next.executor, {&run, index, end_ns});
    };
  }

  /// Completes a node that ended at `end_ns`, which is when those that it made ready were so.
  void complete(Run& run, const PlanNode& node, std::int64_t end_ns) {
    run.complete(node, noting(run, end_ns));
  }
  /// Pushes them to their devices, the most urgent first; `take_here(executor, task)` returns
  /// whether it took one. Only after all was counted: the run may end with the last push.
  template <typename TakeHere>
  void hand_on(Machine& machine, TakeHere&& take_here) {
    for (; !nodes_.empty(); nodes_.pop_back()) {
      const auto& [executor, task] = nodes_.back();
      if (!take_here(executor, task)) machine.executor(executor).push(task);
    }
  }
  void hand_on(Machine& machine) {
    hand_on(machine, [](std::uint32_t, const Task&) { return false; });
  }

 private:
  std::vector<std::pair<std::uint32_t, Task>> nodes_;
};

}  // namespace engine
