// A model with rules for its queries, whose calls last for as long as a test wants.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "fixtures.hpp"
#include "scheduler/waiting_room.hpp"
#include "stack_fixtures.hpp"
#include "test.hpp"

namespace engine::test {

constexpr std::int64_t hour_ns = 3'600'000'000'000;
/// What a model was called for.
using Calls = std::vector<std::vector<std::int64_t>>;

/// A model with rules, whose first call lasts until open() where it was closed.
class Attended {
 public:
  /// `service_ns`: what a query is planned to take by itself; 0: nothing is known.
  Attended(QueueRules rules, int lanes, std::vector<std::int64_t> takes_ns = takes(4 * ms, ms),
           std::int64_t service_ns = 0)
      : machine_(machine_of({cpu(lanes)})),
        model_(machine_, std::move(takes_ns), 1, 1, service_ns),
        room_(WaitingRoom::create(std::move(rules))) {
    model_.plan->wait_in(room_);
    model_.kernel->on_call = [this](CancelToken*) {
      const int others = inside_.fetch_add(1);
      if (others + 1 > most_inside_) most_inside_ = others + 1;
      while (closed_) std::this_thread::yield();
      inside_.fetch_sub(1);
    };
  }
  ~Attended() { closed_ = false; }

  /// The next call does not end before open().
  void close_with(std::int64_t input) {
    closed_ = true;
    ask(input);
    while (inside_ == 0) std::this_thread::yield();
  }
  void open() {
    closed_ = false;
    for (const RunPtr& run : runs_) run->wait(0, false);
  }
  RunPtr ask(std::int64_t input, RunOptions options = {}) {
    runs_.push_back(machine_->submit(*model_.plan, Inputs{number(input)}, std::move(options)));
    return runs_.back();
  }
  [[nodiscard]] Calls calls() const { return model_.kernel->calls(); }
  [[nodiscard]] int most_inside() const { return most_inside_; }
  [[nodiscard]] WaitingRoom& room() const { return *room_; }
  [[nodiscard]] const Plan& plan() const { return *model_.plan; }
  [[nodiscard]] bool all_right() const {
    for (const RunPtr& run : runs_)
      if (run->outcome() != Outcome::ok) return false;
    return true;
  }
  [[nodiscard]] bool leaves_nothing() {
    runs_.clear();
    return is_empty(machine_) && room_->waiting() == 0;
  }
  void shut() { machine_->close(); }

 private:
  std::atomic<bool> closed_{false};
  std::atomic<int> inside_{0}, most_inside_{0};
  MachineOwner machine_;
  StackedModel model_;
  std::shared_ptr<WaitingRoom> room_;
  std::vector<RunPtr> runs_;
};

inline RunOptions of_level(int level) {
  RunOptions options;
  options.priority = 5 - level;
  return options;
}

inline RunOptions ends_in(std::int64_t ns) {
  RunOptions options;
  options.deadline_ns = now_ns() + ns;
  return options;
}

/// Whether what must end in time does: given little time on a machine of one's own, and more where
/// others keep it busy.
inline bool in_some_time(const std::function<bool(std::int64_t)>& is_in_time) {
  for (std::int64_t ns = 125 * ms; ns <= 8'000 * ms; ns *= 2)
    if (is_in_time(ns)) return true;
  return false;
}

}  // namespace engine::test
