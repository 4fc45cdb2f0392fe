// How many cores this process may use.
#pragma once

#include <sched.h>

#include <algorithm>

namespace engine {

/// Those of the calling thread's affinity mask, at least 1.
[[nodiscard]] inline int available_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace engine
