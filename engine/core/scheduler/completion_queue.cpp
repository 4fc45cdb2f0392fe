#include "scheduler/completion_queue.hpp"

#include <algorithm>

namespace engine {

CompletionQueue::~CompletionQueue() { static_cast<void>(drain()); }

void CompletionQueue::push(RunPtr run) noexcept {
  Run* const item = run.release();
  Run* head = newest_.load(std::memory_order_relaxed);  // relaxed: the CAS confirms it
  do {
    item->next_completed_ = head;
    // release: publishes the link and the finished run
  } while (!newest_.compare_exchange_weak(head, item, std::memory_order_release,
                                          std::memory_order_relaxed));
  if (head != nullptr) return;  // whoever pushed first has written
  bell_.ring();
}

std::vector<RunPtr> CompletionQueue::drain() {
  bell_.silence();
  std::vector<RunPtr> runs;
  // acquire: pairs with push()
  for (Run* run = newest_.exchange(nullptr, std::memory_order_acquire); run != nullptr;) {
    Run* const next = run->next_completed_;
    runs.emplace_back(run);
    run = next;
  }
  std::reverse(runs.begin(), runs.end());
  return runs;
}

}  // namespace engine
