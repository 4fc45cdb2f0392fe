#include "devices/cuda/backlog.hpp"

#include "scheduler/plan.hpp"

namespace engine::cuda {

void Backlog::push(const Task& task) {
  const PlanNode& node = task.run->plan().node(task.node);
  waiting_[queue_of(node)].insert({{task.run->order(), node.position}, task});
}

Task Backlog::pop(Queue queue) {
  return waiting_[queue].extract(waiting_[queue].begin()).value().task;
}

std::optional<Task> Backlog::pop_any() {
  for (auto& waiting : waiting_)
    if (!waiting.empty()) return waiting.extract(waiting.begin()).value().task;
  return std::nullopt;
}

std::size_t Backlog::size() const noexcept {
  std::size_t size = 0;
  for (const auto& waiting : waiting_) size += waiting.size();
  return size;
}

std::vector<Task> Backlog::take_stopped() {
  std::vector<Task> stopped;
  for (auto& waiting : waiting_)
    std::erase_if(waiting, [&](const Waiting& entry) {
      const bool is_stopped = entry.task.run->should_skip();
      if (is_stopped) stopped.push_back(entry.task);
      return is_stopped;
    });
  return stopped;
}

bool Calls::push(Call call) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    calls_.push_back(std::move(call));
    // seq_cst: before the thread is looked for
    size_.store(calls_.size(), std::memory_order_seq_cst);
  }
  sleeper_.notify(1);
  return true;
}

bool Calls::run_all() {
  if (empty()) return false;
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
    size_.store(0, std::memory_order_relaxed);  // relaxed: read by the caller's thread
  }
  for (const Call& call : calls) call();
  return true;
}

void Calls::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  run_all();
}

}  // namespace engine::cuda
