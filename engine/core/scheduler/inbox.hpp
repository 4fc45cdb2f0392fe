// Tasks for a device with a thread of its own.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "scheduler/spin_lock.hpp"
#include "scheduler/task.hpp"

namespace engine {

/// Any thread puts tasks in, one takes them all. Thread-safe; locks for a push_back or a swap.
class Inbox {
 public:
  void push(const Task& task) { push_all({&task, 1}); }
  /// They are taken together.
  void push_all(std::span<const Task> tasks) {
    const std::lock_guard lock(lock_);
    tasks_.insert(tasks_.end(), tasks.begin(), tasks.end());
    // seq_cst: before the device's thread is looked for (parker.hpp)
    size_.store(tasks_.size(), std::memory_order_seq_cst);
  }
  /// Replaces the content of `tasks`.
  void take_all(std::vector<Task>& tasks) {
    tasks.clear();
    if (empty()) return;
    const std::lock_guard lock(lock_);
    tasks.swap(tasks_);
    size_.store(0, std::memory_order_relaxed);  // relaxed: read by the caller's thread
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept {
    return size_.load(std::memory_order_seq_cst);  // seq_cst: tested before parking
  }

 private:
  SpinLock lock_;
  std::vector<Task> tasks_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace engine
