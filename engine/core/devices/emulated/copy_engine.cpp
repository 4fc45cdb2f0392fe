#include "devices/emulated/copy_engine.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace engine {

void CopyEngine::launch(std::int64_t clock_ns, std::int64_t& submitter_free_ns,
                        std::vector<Task>& stopped) {
  std::sort(asked_.begin(), asked_.end());
  queue_.insert(queue_.end(), asked_.begin(), asked_.end());
  asked_.clear();
  for (; !queue_.empty(); queue_.pop_front()) {
    const Task task = queue_.front().task;
    if (task.run->should_skip()) {
      stopped.push_back(task);
    } else {
      const std::size_t need = staged(task.run->input_bytes(task.node));
      const bool fits = params_.staging_bytes == 0 || staged_bytes_ == 0 ||
                        staged_bytes_ + need <= params_.staging_bytes;
      if (!fits) {
        delayed_ = true;
        return;
      }
      start(task, delayed_ ? clock_ns : task.ready_ns, submitter_free_ns);
    }
    delayed_ = false;
  }
}

std::size_t CopyEngine::staged(std::size_t size_bytes) const noexcept {
  return params_.staging_bytes == 0 ? 0 : std::min(size_bytes, params_.staging_bytes);
}

void CopyEngine::start(const Task& task, std::int64_t from_ns, std::int64_t& submitter_free_ns) {
  const PlanNode& node = task.run->plan().node(task.node);
  TimedWork work{.task = task};
  task.run->take_inputs(node, work.values);
  const std::size_t size_bytes = work.values.inputs[0] ? work.values.inputs[0]->bytes() : 0;
  work.start_ns = std::max(from_ns, free_ns_);
  if (params_.pageable) work.start_ns = std::max(work.start_ns, submitter_free_ns);
  free_ns_ = work.start_ns + params_.occupancy_ns +
             std::llround(static_cast<double>(size_bytes) * 1e9 / params_.bytes_per_s);
  if (params_.pageable) submitter_free_ns = free_ns_;
  work.end_ns = free_ns_ + params_.latency_ns;
  work.staged_bytes = staged(size_bytes);
  staged_bytes_ += work.staged_bytes;
  task.run->compute(task.node, node, work.values);
  running_.push_back(std::move(work));
}

std::int64_t CopyEngine::next_end_ns() const noexcept {
  std::int64_t next_ns = never_ns;
  for (const TimedWork& work : running_) next_ns = std::min(next_ns, work.end_ns);
  return next_ns;
}

void CopyEngine::take_ended(std::int64_t clock_ns, std::vector<TimedWork>& ended) {
  // In the order of their starts, which is that of their ends.
  const auto goes_on = [clock_ns](const TimedWork& work) { return work.end_ns > clock_ns; };
  const auto first = std::stable_partition(running_.begin(), running_.end(), goes_on);
  for (auto work = first; work != running_.end(); ++work) staged_bytes_ -= work->staged_bytes;
  std::move(first, running_.end(), std::back_inserter(ended));
  running_.erase(first, running_.end());
}

void CopyEngine::take_stopped(std::vector<TimedWork>& ended, std::vector<Task>& waiting) {
  const auto goes_on = [](const TimedWork& work) { return !work.task.run->stopped(); };
  const auto first = std::stable_partition(running_.begin(), running_.end(), goes_on);
  for (auto work = first; work != running_.end(); ++work) staged_bytes_ -= work->staged_bytes;
  std::move(first, running_.end(), std::back_inserter(ended));
  running_.erase(first, running_.end());
  const auto is_stopped = [&waiting](const WaitingNode& w) {
    if (!w.task.run->stopped()) return false;
    waiting.push_back(w.task);
    return true;
  };
  std::erase_if(asked_, is_stopped);
  std::erase_if(queue_, is_stopped);
}

}  // namespace engine
