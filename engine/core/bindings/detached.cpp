// Python's view of processes that are no children of this one.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <system_error>
#include <vector>

#include "bindings/released_gil.hpp"
#include "bindings/value.hpp"
#include "isolation/detached.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

std::vector<std::string> strings(const std::vector<nb::bytes>& rows) {
  std::vector<std::string> copied;
  for (const nb::bytes& row : rows) copied.emplace_back(row.c_str(), row.size());
  return copied;
}

nb::tuple started(const std::vector<nb::bytes>& arguments,
                  const std::vector<nb::bytes>& environment, int input, int output) {
  const std::vector<std::string> command = strings(arguments);
  const std::vector<std::string> rows = strings(environment);
  Detached process;
  try {
    const ReleasedGil released;
    process = start_detached(command, rows, input, output);
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, command.front().c_str());
    throw nb::python_error();
  }
  return nb::make_tuple(process.pid, process.descriptor);
}

}  // namespace

void bind_detached(nb::module_& m) {
  m.def("start_detached", &started, "arguments"_a, "environment"_a, "stdin"_a, "stdout"_a,
        nb::sig("def start_detached(arguments: list[bytes], environment: list[bytes], "
                "stdin: int, stdout: int) -> tuple[int, int]"),
        R"(Start a program in a session of its own that is no child of this process.

Parameters
----------
arguments, environment
    The program's path and its arguments; rows of ``NAME=VALUE``.
stdin, stdout
    Descriptors, which stay the caller's.

Returns
-------
tuple
    Its process id, and a pidfd, which is the caller's to close.

Raises
------
OSError
    If it cannot be started.)");
}

}  // namespace engine
