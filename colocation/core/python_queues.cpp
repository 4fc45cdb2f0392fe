#include "python_queues.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace nb = nanobind;

namespace colocation {

namespace {

/// Places of frame/query.py's fields: queries are named tuples.
constexpr Py_ssize_t kArrival = 3, kDeadline = 4, kItems = 5, kSequence = 6;

/// A name that Python compares by address; lives as long as the process.
PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

nb::object attribute(PyObject* of, PyObject* name) {
  nb::object found = nb::steal(PyObject_GetAttr(of, name));
  if (!found.is_valid()) throw nb::python_error();
  return found;
}

std::int64_t number(PyObject* query, Py_ssize_t place) {
  const auto found = PyLong_AsLongLong(PyTuple_GET_ITEM(query, place));
  if (found == -1 && PyErr_Occurred()) throw nb::python_error();
  return found;
}

Waiter waiter(PyObject* queries, Py_ssize_t place) {
  const nb::object query = nb::steal(PySequence_GetItem(queries, place));
  if (!query.is_valid()) throw nb::python_error();
  if (!PyTuple_Check(query.ptr()) || PyTuple_GET_SIZE(query.ptr()) <= kSequence)
    throw std::invalid_argument("a queue holds what is no query");
  return {number(query.ptr(), kArrival),
          number(query.ptr(), kDeadline),
          number(query.ptr(), kItems),
          number(query.ptr(), kSequence),
          0,
          0};
}

}  // namespace

PythonQueue::PythonQueue(nb::object waiting) : waiting_(std::move(waiting)) {
  static PyObject* const queries = interned("_queries");
  queries_ = attribute(waiting_.ptr(), queries);
}

void PythonQueue::read(std::uint64_t version) {
  static PyObject* const alike = interned("_alike");
  seen_.clear();
  size_ = PyObject_Size(queries_.ptr());
  if (size_ < 0) throw nb::python_error();
  // Those that were not alike once never are again.
  if (size_ > 0 && alike_) alike_ = attribute(waiting_.ptr(), alike).ptr() == Py_True;
  version_ = version;
}

const Waiter& PythonQueue::at(Count place) const {
  while (static_cast<Count>(seen_.size()) <= place) {
    Waiter next = waiter(queries_.ptr(), static_cast<Py_ssize_t>(seen_.size()));
    const Waiter before = seen_.empty() ? Waiter{} : seen_.back();
    next.items_together = before.items_together + next.items;
    next.longest_sequence = std::max(before.longest_sequence, next.sequence);
    seen_.push_back(next);
  }
  return seen_[static_cast<std::size_t>(place)];
}

void PythonQueues::lend(nb::handle waiting) {
  if (waiting.is(waiting_)) return;
  if (!PyTuple_Check(waiting.ptr())) throw nb::type_error("waiting: a tuple expected");
  queues_.clear();
  waiting_ = nb::none();
  for (const nb::handle own : waiting) queues_.emplace_back(nb::borrow(own));
  waiting_ = nb::borrow(waiting);
}

void PythonQueues::change() noexcept {
  for (PythonQueue& queue : queues_) queue.change();
}

const Queue& PythonQueues::of(Count service) {
  if (service < 0 || service >= static_cast<Count>(queues_.size()))
    throw std::out_of_range("there is no queue of this service");
  PythonQueue& queue = queues_[static_cast<std::size_t>(service)];
  if (queue.changed()) queue.read(++reads_);
  return queue;
}

}  // namespace colocation
