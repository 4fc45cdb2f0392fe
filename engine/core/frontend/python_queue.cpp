#include "frontend/python_queue.hpp"

#include <utility>

namespace engine::frontend {

bool PythonQueue::is_full() const {
  const std::lock_guard lock(mutex_);
  return waiting_ >= most_waiting_;
}

void PythonQueue::put(Event one) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = events_.empty();
    if (begins(one)) ++waiting_;
    events_.push_back(std::move(one));
    of_call_[events_.back().token].push_back(std::prev(events_.end()));
  }
  if (was_empty) bell_.ring();
}

std::size_t PythonQueue::withdraw(std::uint64_t token) {
  Events forgotten;  // their messages are freed without the lock
  const std::lock_guard lock(mutex_);
  const auto found = of_call_.find(token);
  if (found == of_call_.end()) return 0;
  for (const Events::iterator event : found->second) {
    if (begins(*event)) --waiting_;
    forgotten.splice(forgotten.end(), events_, event);
  }
  of_call_.erase(found);
  return forgotten.size();
}

std::vector<Event> PythonQueue::take(std::size_t most) {
  bell_.silence();
  std::vector<Event> taken;
  bool is_left = false;
  {
    const std::lock_guard lock(mutex_);
    while (!events_.empty() && taken.size() < most) {
      Event& first = events_.front();
      if (begins(first)) --waiting_;
      // The first of all is the first of its call.
      const auto own = of_call_.find(first.token);
      own->second.erase(own->second.begin());
      if (own->second.empty()) of_call_.erase(own);
      taken.push_back(std::move(first));
      events_.pop_front();
    }
    is_left = !events_.empty();
  }
  if (is_left) bell_.ring();
  return taken;
}

}  // namespace engine::frontend
