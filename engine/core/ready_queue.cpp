#include "ready_queue.hpp"

#include <algorithm>
#include <mutex>

#include "run.hpp"

namespace engine {

namespace {

constexpr std::size_t usual_runs = 256;

}  // namespace

ReadyQueue::ReadyQueue(std::uint32_t executor) : executor_(executor) { runs_.reserve(usual_runs); }

void ReadyQueue::push(Run& run, std::span<const std::uint32_t> positions) {
  if (positions.empty()) return;
  const std::lock_guard lock(lock_);
  insert(run, positions);
}

bool ReadyQueue::pop(Task& task) {
  // relaxed: who makes it true wakes a thread that looks again
  if (!nonempty_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(lock_);
  if (first_.bits == 0) return false;
  task = take_first();
  return true;
}

Task ReadyQueue::exchange(Run& run, std::span<const std::uint32_t> positions) {
  const std::lock_guard lock(lock_);
  insert(run, positions);
  return take_first();
}

void ReadyQueue::insert(Run& run, std::span<const std::uint32_t> positions) {
  ReadySet& ready = run.ready(executor_);
  const bool entered = !ready.empty();
  for (const std::uint32_t position : positions) {
    if (front_.run == &run && position / 64 == first_.index && first_.bits != 0)
      first_.bits |= ReadySet::Word::bit(position);
    else
      ready.insert(position);
  }
  add_size(static_cast<std::uint32_t>(positions.size()));
  if (!entered && !ready.empty()) enter({run.order(), &run});
  if (first_.bits == 0) {
    refill_front();
    nonempty_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for waiters
  } else if (is_overtaken()) {
    put_back_front();
    refill_front();
  }
}

Task ReadyQueue::take_first() noexcept {
  Run& run = *front_.run;
  const Task task{&run, run.plan().node_at(first_.pop_first()), 0};
  add_size(UINT32_MAX);  // one less
  if (first_.bits != 0) return task;
  if (!runs_.empty())
    refill_front();
  else
    nonempty_.store(false, std::memory_order_relaxed);  // relaxed: a late view looks in vain
  return task;
}

/// Whether the heap holds nodes that go before the front.
bool ReadyQueue::is_overtaken() const noexcept {
  if (runs_.empty()) return false;
  const Entry& next = runs_.front();
  if (next.run != front_.run) return next.order < front_.order;
  return next.run->ready(executor_).first_index() < first_.index;
}

void ReadyQueue::put_back_front() {
  ReadySet& ready = front_.run->ready(executor_);
  const bool entered = !ready.empty();
  ready.insert(first_);
  if (!entered) enter(front_);
}

void ReadyQueue::refill_front() noexcept {
  front_ = runs_.front();
  ReadySet& ready = front_.run->ready(executor_);
  first_ = ready.pop_word();
  if (!ready.empty()) return;
  std::pop_heap(runs_.begin(), runs_.end());
  runs_.pop_back();
}

void ReadyQueue::enter(const Entry& entry) {
  runs_.push_back(entry);
  std::push_heap(runs_.begin(), runs_.end());
}

}  // namespace engine
