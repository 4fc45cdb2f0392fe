#include "thread_budget.hpp"

#include <sched.h>

#include <algorithm>

namespace engine {

namespace {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace

ThreadBudget::ThreadBudget(int limit) : limit_(limit > 0 ? limit : available_cores()) {}

}  // namespace engine
