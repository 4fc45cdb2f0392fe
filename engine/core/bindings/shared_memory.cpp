// Python's view of the regions of shared memory that clients registered.
#include "bindings/shared_memory.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "bindings/buffer.hpp"
#include "bindings/released_gil.hpp"
#include "shared_memory/cuda_memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

const char* name_of(RegionFault fault) noexcept {
  switch (fault) {
    case RegionFault::unknown:
      return "unknown";
    case RegionFault::exists:
      return "exists";
    case RegionFault::invalid:
      return "invalid";
    case RegionFault::unreachable:
      return "unreachable";
    case RegionFault::shrunk:
      return "shrunk";
    case RegionFault::too_many:
      return "too_many";
    case RegionFault::no_gpu:
      return "no_gpu";
  }
  return "unknown";
}

/// A RuntimeError with what is wrong in a word as its attribute `fault`.
void bind_region_error(nb::module_& m) {
  const nb::object type = nb::steal(PyErr_NewExceptionWithDoc(
      "surplus.engine._core.RegionError",
      "A region of shared memory cannot be had or used; `fault` says why: unknown, exists, "
      "invalid, unreachable, shrunk, too_many or no_gpu.",
      PyExc_RuntimeError, nullptr));
  m.attr("RegionError") = type;  // the module keeps it
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* raised) {
        try {
          std::rethrow_exception(thrown);
        } catch (const RegionError& error) {
          const nb::handle kind(static_cast<PyObject*>(raised));
          // Names that clients gave need not be UTF-8.
          const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
              error.what(), static_cast<Py_ssize_t>(std::string_view(error.what()).size()),
              "replace"));
          const nb::object made = kind(text);
          made.attr("fault") = name_of(error.fault());
          PyErr_SetObject(kind.ptr(), made.ptr());
        }
      },
      type.ptr());
}

nb::dict region_row(const Region& region) {
  nb::dict row;
  row["name"] = region.name;
  row["key"] = region.key;
  row["offset"] = region.offset;
  row["byte_size"] = region.bytes;
  return row;
}

nb::dict gpu_row_of(const Region& region) {
  nb::dict row;
  row["name"] = region.name;
  row["device_id"] = region.gpu;
  row["byte_size"] = region.bytes;
  return row;
}

nb::list rows(const PyRegions& self, bool of_gpu) {
  nb::list found;
  for (const Region& region : self.table->list(of_gpu))
    found.append(of_gpu ? gpu_row_of(region) : region_row(region));
  return found;
}

void register_of_gpu(const PyRegions& self, std::string name, const nb::bytes& handle, int gpu,
                     std::uint64_t bytes) {
  CudaHandle copied{};
  if (handle.size() != copied.size())
    throw RegionError(RegionFault::invalid, "failed to register CUDA shared memory region: '" +
                                                name +
                                                "', invalid args: a handle has 64 bytes, not " +
                                                std::to_string(handle.size()));
  std::copy_n(handle.c_str(), copied.size(), copied.begin());
  const Region region{.name = std::move(name), .key = {}, .offset = 0, .bytes = bytes, .gpu = gpu};
  const ReleasedGil released;
  self.table->add_of_gpu(region, copied);
}

/// Straight into the bytes object that is returned.
nb::object read(const PyRegions& self, const std::string& name, std::uint64_t offset,
                std::uint64_t bytes) {
  self.table->check(name, offset, bytes);  // before so much memory is asked for
  nb::object made = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
  if (!made.is_valid()) throw nb::python_error();
  char* const into = PyBytes_AsString(made.ptr());
  const ReleasedGil released;
  self.table->read(name, offset, into, bytes);
  return made;
}

void write(const PyRegions& self, const std::string& name, std::uint64_t offset, nb::handle data) {
  const PyBuffer buffer(data.ptr());
  const ReleasedGil released;
  self.table->write(name, offset, buffer.data(), buffer.bytes());
}

}  // namespace

void bind_shared_memory(nb::module_& m) {
  bind_region_error(m);
  m.def("use_cuda_of", &use_cuda_of, "runtime"_a, "driver"_a = "",
        "Look for CUDA's functions there, for regions of GPUs; by the usual names where empty.");
  nb::class_<PyRegions>(m, "SharedMemory",
                        R"(Regions of POSIX shared memory by the names that clients gave them.

Thread-safe. Nothing is mapped: a region that its maker truncates fails the queries that use it,
and nothing else. All methods raise RegionError.)")
      .def(nb::init<std::size_t>(), "most"_a = Regions::most_by_default)
      .def(
          "register",
          [](const PyRegions& self, std::string name, std::string key, std::uint64_t offset,
             std::uint64_t bytes) {
            self.table->add({std::move(name), std::move(key), offset, bytes, Region::no_gpu});
          },
          "name"_a, "key"_a, "offset"_a, "byte_size"_a,
          "Open the memory of a key of shm_open(3), of which a part is the region.")
      .def(
          "unregister",
          [](const PyRegions& self, const std::string& name, bool of_gpu) {
            self.table->remove(name, of_gpu);
          },
          "name"_a, "of_gpu"_a = false, "Forget a region; nothing if there is none.")
      .def("register_of_gpu", &register_of_gpu, "name"_a, "handle"_a, "gpu"_a, "byte_size"_a,
           "Open memory of a GPU by what cudaIpcGetMemHandle gave its process.")
      .def(
          "clear", [](const PyRegions& self, bool of_gpu) { self.table->clear(of_gpu); },
          "of_gpu"_a = false, "Forget all.")
      .def("rows", &rows, "of_gpu"_a = false,
           nb::sig("def rows(self, of_gpu: bool = False) -> list[dict[str, Any]]"),
           R"(Name, key, offset and byte_size of each region, in the order of names.

Of GPUs' name, device_id and byte_size.)")
      .def(
          "find",
          [](const PyRegions& self, const std::string& name) {
            return region_row(self.table->find(name));
          },
          "name"_a, nb::sig("def find(self, name: str) -> dict[str, Any]"), "As one of `rows`.")
      .def(
          "check",
          [](const PyRegions& self, const std::string& name, std::uint64_t offset,
             std::uint64_t bytes) { self.table->check(name, offset, bytes); },
          "name"_a, "offset"_a, "byte_size"_a, "Raise unless these bytes lie within the region.")
      .def("read", &read, "name"_a, "offset"_a, "byte_size"_a,
           nb::sig("def read(self, name: str, offset: int, byte_size: int) -> bytes"),
           "Bytes of a region, read without the GIL.")
      .def("write", &write, "name"_a, "offset"_a, "data"_a,
           nb::sig("def write(self, name: str, offset: int, data: bytes | memoryview | "
                   "numpy.ndarray) -> None"),
           "Write a contiguous buffer into a region, without the GIL.");
}

}  // namespace engine
