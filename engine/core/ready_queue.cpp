#include "ready_queue.hpp"

#include "clock.hpp"

namespace engine {

ReadyQueue::ReadyQueue(std::size_t capacity_per_class) : capacity_(capacity_per_class) {
  for (auto& entry : classes_) entry = std::make_unique<Class>(capacity_per_class);
}

void ReadyQueue::push(const Task& task) {
  Class& entry = *classes_[task.priority_class];
  // relaxed: a stale zero only lets one task overtake the spilled ones
  const bool overflowing = entry.overflow_size.load(std::memory_order_relaxed) != 0;
  if (overflowing || !entry.ring.try_push(task)) spill(entry, task);
  // An RMW even if the bit is set: a pop that clears the bit after it then sees our task.
  // seq_cst: the task is visible before we look for parked threads (parker.hpp).
  hint_.fetch_or(1U << task.priority_class, std::memory_order_seq_cst);
}

bool ReadyQueue::pop(Task& task, std::uint32_t class_limit) {
  const std::uint32_t wanted = (1U << class_limit) - 1;
  for (;;) {
    // acquire: see the pushes that set the bits
    const std::uint32_t hint = hint_.load(std::memory_order_acquire) & wanted;
    if (hint == 0) return false;
    const int index = std::countr_zero(hint);
    Class& entry = *classes_[static_cast<std::size_t>(index)];
    const bool found = entry.ring.try_pop(task);
    // relaxed: the mutex inside decides
    if (entry.overflow_size.load(std::memory_order_relaxed) != 0) refill(entry);
    if (found) return true;
    if (holds_any(entry)) {
      cpu_relax();  // a push is being written, or was just refilled
      continue;
    }
    const std::uint32_t bit = 1U << index;
    // acq_rel: pushes whose fetch_or came before this clear are seen by the check below
    hint_.fetch_and(~bit, std::memory_order_acq_rel);
    // seq_cst: restores the hint under the same protocol as a push
    if (holds_any(entry)) hint_.fetch_or(bit, std::memory_order_seq_cst);
  }
}

std::size_t ReadyQueue::room(std::uint32_t priority_class) const noexcept {
  const std::size_t used = classes_[priority_class]->ring.size_approx();
  return used < capacity_ ? capacity_ - used : 0;
}

std::size_t ReadyQueue::size_approx() const noexcept {
  std::size_t total = 0;
  for (const auto& entry : classes_) {
    total += entry->ring.size_approx();
    total += entry->overflow_size.load(std::memory_order_relaxed);  // relaxed: a statistic
  }
  return total;
}

void ReadyQueue::spill(Class& entry, const Task& task) {
  const std::lock_guard lock(entry.mutex);
  entry.overflow.push_back(task);
  // relaxed: written under the mutex; readers outside it only take a hint
  entry.overflow_size.store(static_cast<std::uint32_t>(entry.overflow.size()),
                            std::memory_order_relaxed);
  spilled_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
}

void ReadyQueue::refill(Class& entry) {
  const std::lock_guard lock(entry.mutex);
  while (!entry.overflow.empty() && entry.ring.try_push(entry.overflow.front()))
    entry.overflow.pop_front();
  // relaxed: as in spill()
  entry.overflow_size.store(static_cast<std::uint32_t>(entry.overflow.size()),
                            std::memory_order_relaxed);
}

bool ReadyQueue::holds_any(const Class& entry) noexcept {
  // relaxed: ordered by the RMWs on hint_ around it
  return entry.ring.size_approx() != 0 || entry.overflow_size.load(std::memory_order_relaxed) != 0;
}

}  // namespace engine
