// The controller's queues, read where they are: frame/state.py says what holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "queue.hpp"

namespace colocation {

/// A `Waiting`: its deque of queries, and whether they are alike. Holds the GIL while it is used.
class PythonQueue : public Queue {
 public:
  /// Throws nanobind::python_error if it is none.
  explicit PythonQueue(nanobind::object waiting);

  /// Whether what it holds may be something else than what was read.
  [[nodiscard]] bool changed() const noexcept { return version_ == 0; }
  void change() noexcept { version_ = 0; }
  /// A version > 0 that no queue had.
  void read(std::uint64_t version);

  [[nodiscard]] Count size() const override { return size_; }
  [[nodiscard]] bool alike() const override { return alike_; }
  [[nodiscard]] std::uint64_t version() const override { return version_; }
  /// Reads each query once.
  [[nodiscard]] const Waiter& at(Count place) const override;

 private:
  nanobind::object waiting_, queries_;
  mutable std::vector<Waiter> seen_;
  std::uint64_t version_ = 0;
  Count size_ = 0;
  bool alike_ = true;
};

/// `State.waiting`. The queues are found once, as a controller has the same ones all the time; what
/// they hold is read once for each event, but for those that the event's own decisions change.
class PythonQueues : public Queues {
 public:
  /// Throws nanobind::type_error if it is no tuple, and nanobind::python_error if not of `Waiting`.
  void lend(nanobind::handle waiting);
  /// What a queue holds has changed; or what any may hold.
  void change(Count service) noexcept { queues_[static_cast<std::size_t>(service)].change(); }
  void change() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return queues_.size(); }
  [[nodiscard]] const Queue& of(Count service) override;

 private:
  nanobind::object waiting_;
  std::deque<PythonQueue> queues_;
  std::uint64_t reads_ = 0;
};

}  // namespace colocation
