// The controller's queues, read where they are: frame/state.py says what holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "queue.hpp"

namespace colocation {

/// A `Waiting`: its deque of queries, and whether they are alike. Holds the GIL while it is used.
class PythonQueue : public Queue {
 public:
  /// Throws nanobind::python_error if it is none.
  void read(PyObject* waiting);

  [[nodiscard]] Count size() const override { return size_; }
  [[nodiscard]] bool alike() const override { return alike_; }
  /// Reads each query once.
  [[nodiscard]] Waiter at(Count place) const override;

 private:
  nanobind::object queries_;
  mutable std::vector<Waiter> seen_;
  Count size_ = 0;
  bool alike_ = true;
};

/// `State.waiting`; borrowed for one choice.
class PythonQueues : public Queues {
 public:
  void lend(PyObject* waiting) noexcept { waiting_ = waiting; }
  [[nodiscard]] const Queue& of(Count service) override;

 private:
  PyObject* waiting_ = nullptr;
  PythonQueue queue_;
};

}  // namespace colocation
