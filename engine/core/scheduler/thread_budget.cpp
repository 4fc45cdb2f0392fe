#include "scheduler/thread_budget.hpp"

#include <pthread.h>

#include "scheduler/cores.hpp"

namespace engine {

std::shared_ptr<ThreadBudget> ThreadBudget::of_process() {
  const int cores = available_cores();
  static const auto budget = std::make_shared<ThreadBudget>(cores);
  // A forked child has none of the threads that its parent counted. relaxed: it has one thread
  [[maybe_unused]] static const int handled =
      pthread_atfork(nullptr, nullptr, [] { budget->active_.store(0, std::memory_order_relaxed); });
  budget->limit_.store(cores, std::memory_order_relaxed);  // relaxed: as in limit()
  return budget;
}

}  // namespace engine
