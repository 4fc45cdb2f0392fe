#include "scheduler/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>

#include "scheduler/cgroup_quota.hpp"

namespace engine {

namespace {

/// 0 also where the groups cannot be read.
int quota_cores() noexcept {
  try {
    return cgroup_cores();
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

int available_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
  const int quota = quota_cores();
  return quota == 0 ? cores : std::min(cores, quota);
}

}  // namespace engine
