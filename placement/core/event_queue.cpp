#include "event_queue.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace placement {

void EventQueue::add_to(std::vector<Event>& list) const {
  for (std::size_t place = 0; place < near_count_; ++place) list.push_back(event_at(place));
  list.insert(list.end(), far_.begin(), far_.end());
}

void EventQueue::push_far(Event event) {
  if (event.at_ns < next_.at_ns) {
    const Event later = event_at(next_.place);
    set(next_.place, event.at_ns, packed(event.what, event.index));
    next_.at_ns = event.at_ns;
    event = later;
  }
  far_.push_back(event);
  std::ranges::push_heap(far_, std::greater{});
}

void EventQueue::refill(std::size_t place) {
  std::ranges::pop_heap(far_, std::greater{});
  set(place, far_.back().at_ns, packed(far_.back().what, far_.back().index));
  far_.pop_back();
}

}  // namespace placement
