#include "scheduler/completion_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace engine {

CompletionQueue::CompletionQueue() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

CompletionQueue::~CompletionQueue() {
  static_cast<void>(drain());
  close(fd_);
}

void CompletionQueue::push(RunPtr run) noexcept {
  Run* const item = run.release();
  Run* head = newest_.load(std::memory_order_relaxed);  // relaxed: the CAS confirms it
  do {
    item->next_completed_ = head;
    // release: publishes the link and the finished run
  } while (!newest_.compare_exchange_weak(head, item, std::memory_order_release,
                                          std::memory_order_relaxed));
  if (head != nullptr) return;  // whoever pushed first has written
  const std::uint64_t one = 1;
  static_cast<void>(!write(fd_, &one, sizeof one));
}

std::vector<RunPtr> CompletionQueue::drain() {
  std::uint64_t count = 0;
  static_cast<void>(!read(fd_, &count, sizeof count));
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
