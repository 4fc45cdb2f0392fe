// What will happen in a query, the next thing first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "index_lists.hpp"
#include "times.hpp"

namespace placement {

enum class Happening : std::uint8_t { task_ends, copy_arrives, wakes };

struct Event {
  Ns at_ns;
  Happening what;
  Index index;  ///< of the task, the copy, or the device that wakes
  friend bool operator<(const Event& a, const Event& b) noexcept {
    return std::tie(a.at_ns, a.what, a.index) < std::tie(b.at_ns, b.what, b.index);
  }
  friend bool operator>(const Event& a, const Event& b) noexcept { return b < a; }
};

/// Most queries have no more than a few events at once: as many as lanes and links. Of so many the
/// next one is found by looking at all of them, since no processor can foresee where in a heap or a
/// sorted list an event belongs. What is beyond those is a heap. Not thread-safe.
class EventQueue {
 public:
  EventQueue() { near_ns_.fill(end_of_times_ns); }

  [[nodiscard]] bool empty() const noexcept { return near_count_ == 0; }
  /// When the next event is; later than all times if there is none.
  [[nodiscard]] Ns next_ns() const noexcept { return next_.at_ns; }
  [[nodiscard]] std::size_t size() const noexcept { return near_count_ + far_.size(); }

  void push(Ns at_ns, Happening what, Index index) {
    if (near_count_ == most_near) return push_far({at_ns, what, index});
    set(near_count_, at_ns, packed(what, index));
    next_ = sooner(next_, one(near_count_));
    ++near_count_;
  }

  /// Takes out the next event; of a queue that is not empty. Of several at one moment it is any,
  /// since their order changes nothing.
  Event pop() {
    const Event event = event_at(next_.place);
    if (far_.empty()) {
      --near_count_;
      set(next_.place, near_ns_[near_count_], what_[near_count_]);
      near_ns_[near_count_] = end_of_times_ns;
    } else {
      refill(next_.place);
    }
    next_ = soonest();
    return event;
  }

  void clear() noexcept {
    near_ns_.fill(end_of_times_ns);
    near_count_ = 0;
    next_ = {end_of_times_ns, 0};
    far_.clear();
  }

  /// Adds all of them to a list, in any order.
  void add_to(std::vector<Event>& list) const;

 private:
  struct Candidate {
    Ns at_ns;
    std::size_t place;
  };

  static constexpr std::size_t most_near = 16;

  static std::uint64_t packed(Happening what, Index index) noexcept {
    return static_cast<std::uint64_t>(what) << 32 | static_cast<std::uint32_t>(index);
  }
  void set(std::size_t place, Ns at_ns, std::uint64_t what) noexcept {
    near_ns_[place] = at_ns;
    what_[place] = what;
  }
  [[nodiscard]] Event event_at(std::size_t place) const noexcept {
    const std::uint64_t what = what_[place];
    return {near_ns_[place], static_cast<Happening>(what >> 32), static_cast<Index>(what)};
  }
  /// Written so that compilers make no branch of it.
  static Candidate sooner(Candidate a, Candidate b) noexcept {
    const auto all_if_b = std::size_t{0} - static_cast<std::size_t>(b.at_ns < a.at_ns);
    return {std::min(a.at_ns, b.at_ns), a.place ^ ((a.place ^ b.place) & all_if_b)};
  }
  [[nodiscard]] Candidate one(std::size_t place) const noexcept { return {near_ns_[place], place}; }
  [[nodiscard]] Candidate soonest_of_four(std::size_t from) const noexcept {
    return sooner(sooner(one(from), one(from + 1)), sooner(one(from + 2), one(from + 3)));
  }
  [[nodiscard]] Candidate soonest() const noexcept {
    if (near_count_ <= 2) return sooner(one(0), one(1));
    if (near_count_ <= 4) return soonest_of_four(0);
    const Candidate first = sooner(soonest_of_four(0), soonest_of_four(4));
    if (near_count_ <= 8) return first;
    return sooner(first, sooner(soonest_of_four(8), soonest_of_four(12)));
  }
  void push_far(Event event);
  void refill(std::size_t place);

  // Apart, since what was just written can only be read in the same pieces without a delay.
  std::array<Ns, most_near> near_ns_;  // never beyond those that there are
  std::array<std::uint64_t, most_near> what_;
  std::size_t near_count_ = 0;
  Candidate next_{end_of_times_ns, 0};
  std::vector<Event> far_;  // a heap of later ones, empty unless there are most_near others
};

}  // namespace placement
