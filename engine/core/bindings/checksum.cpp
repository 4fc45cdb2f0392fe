// Python's view of what is read of files: checksums, operators that threads change.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <system_error>

#include "bindings/released_gil.hpp"
#include "bindings/value.hpp"
#include "files/checksum.hpp"
#include "files/onnx_threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

std::uint64_t checksum(const nb::bytes& data) {
  Checksum sum;
  sum.add(data.data(), data.size());
  return sum.value();
}

nb::tuple file_checksum(int descriptor) {
  FileSum sum;
  try {
    const ReleasedGil released;
    sum = sum_of_file(descriptor);
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  return nb::make_tuple(sum.bytes, sum.checksum);
}

nb::tuple effects_of_threads(const std::string& path) {
  ThreadEffects effects;
  {
    const ReleasedGil released;
    effects = thread_effects_of(path);
  }
  return nb::make_tuple(effects.race, effects.quantise);
}

}  // namespace

void bind_checksum(nb::module_& m) {
  m.def("thread_effects", &effects_of_threads, "path"_a,
        nb::sig("def thread_effects(path: str) -> tuple[bool, bool]"),
        R"(What several threads within an operator would change of a model's answers.

Whether they write to one place, so that sessions of it have one thread whatever their width,
and whether each quantises what it gets by itself. Nothing of a file that cannot be read.)");
  m.def("checksum", &checksum, "data"_a, "XXH64 of some bytes: finds damage, not malice.");
  m.def("file_checksum", &file_checksum, "descriptor"_a,
        nb::sig("def file_checksum(descriptor: int) -> tuple[int, int]"),
        R"(Bytes and XXH64 of an open file from its start on, read without the GIL.

Raises
------
OSError
    If it cannot be read.)");
}

}  // namespace engine
