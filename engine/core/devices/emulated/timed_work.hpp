// What a device with a clock of its own holds: nodes that wait and nodes that run.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "scheduler/run.hpp"
#include "scheduler/task.hpp"

namespace engine {

/// No event is to come.
inline constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

/// A ready node and its place in the order of urgency.
struct WaitingNode {
  std::pair<RunOrder, std::uint32_t> key;  ///< run, position in the plan
  Task task;

  [[nodiscard]] static WaitingNode of(const Task& task) {
    return {{task.run->order(), task.run->plan().node(task.node).position}, task};
  }
  bool operator<(const WaitingNode& other) const noexcept { return key < other.key; }
};

/// A node that was started and ends on the clock.
struct TimedWork {
  Task task;
  NodeValues values = {};
  int lane = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::size_t staged_bytes = 0;  ///< copies: of the staging pool
};

}  // namespace engine
