// List scheduling: tasks by rank, each on a device and at a width that a policy's rule chooses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem.hpp"

namespace placement {

/// Who gets a task of those that may.
enum class Choice : std::uint8_t {
  least,    ///< the device with the least end and what lies ahead
  fastest,  ///< of the device where it ends first and the one that is fastest, the same; HOFT
  readers,  ///< the device with the earliest end of its readers, placed after it; lookahead HEFT
};

/// What a list schedule goes by.
struct ListRules {
  std::span<const double> ranks;  ///< of tasks that are ready the highest is next, then the first
  std::span<const std::int64_t> ahead_ns;  ///< a table (tables.hpp); below 0: not on that device
  Choice choice = Choice::least;
  bool has_links = false;  ///< whether copies over one link wait for each other
  bool is_narrow = false;  ///< whether each task has only its narrowest width
};

/// Places and planned starts, by task.
struct ListSchedule {
  std::vector<std::int64_t> device_of, start_ns;
};

/// Schedules all tasks; a tensor is copied once per memory, when its first reader there is placed.
/// Each task costs its inputs times devices and a search in the lanes, with Choice::readers also
/// that of its readers times devices. Throws std::invalid_argument if the rules are not of the
/// problem, or ask for readers and links, std::range_error if a time is 2^62 ns or more.
[[nodiscard]] ListSchedule list_schedule(const Problem& problem, const ListRules& rules);

}  // namespace placement
