// Finished runs for an event loop: an eventfd that becomes readable and a lock-free list.
#pragma once

#include <atomic>
#include <vector>

#include "scheduler/doorbell.hpp"
#include "scheduler/run.hpp"

namespace engine {

/// push() from any thread, lock-free; drain() from one thread at a time.
class CompletionQueue {
 public:
  /// Throws std::system_error if the process has no file descriptor left.
  CompletionQueue() = default;
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  ~CompletionQueue();

  void push(RunPtr run) noexcept;
  /// Every run finished so far, oldest first. Clears the eventfd; never blocks.
  [[nodiscard]] std::vector<RunPtr> drain();
  /// Readable when there is something to drain. Owned by the queue.
  [[nodiscard]] int fd() const noexcept { return bell_.fd(); }

 private:
  Doorbell bell_;
  std::atomic<Run*> newest_{nullptr};
};

}  // namespace engine
