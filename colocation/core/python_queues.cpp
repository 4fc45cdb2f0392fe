#include "python_queues.hpp"

#include <stdexcept>

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
  return {number(query.ptr(), kArrival), number(query.ptr(), kDeadline),
          number(query.ptr(), kItems), number(query.ptr(), kSequence)};
}

}  // namespace

void PythonQueue::read(PyObject* waiting) {
  static PyObject* const queries = interned("_queries");
  static PyObject* const alike = interned("_alike");
  queries_ = attribute(waiting, queries);
  seen_.clear();
  size_ = PyObject_Size(queries_.ptr());
  if (size_ < 0) throw nb::python_error();
  if (size_ > 0) alike_ = attribute(waiting, alike).ptr() == Py_True;
}

Waiter PythonQueue::at(Count place) const {
  while (static_cast<Count>(seen_.size()) <= place)
    seen_.push_back(waiter(queries_.ptr(), static_cast<Py_ssize_t>(seen_.size())));
  return seen_[static_cast<std::size_t>(place)];
}

const Queue& PythonQueues::of(Count service) {
  if (service < 0 || service >= PyTuple_GET_SIZE(waiting_))
    throw std::out_of_range("there is no queue of this service");
  queue_.read(PyTuple_GET_ITEM(waiting_, service));
  return queue_;
}

}  // namespace colocation
