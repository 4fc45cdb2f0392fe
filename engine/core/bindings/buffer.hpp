// Python memory under tensors, without a copy, released without ever waiting for the GIL.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "ort/value.hpp"

namespace engine {

/// A C-contiguous buffer of a Python object, held until its owner dies. Make it with the GIL
/// held; throws nanobind::python_error when the object has no such buffer.
class PyBuffer {
 public:
  explicit PyBuffer(PyObject* object);

  [[nodiscard]] void* data() const noexcept { return view().buf; }
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(view().len); }
  [[nodiscard]] std::size_t item_bytes() const noexcept {
    return static_cast<std::size_t>(view().itemsize);
  }
  /// The item's code in the notation of Python's struct module, such as "f".
  [[nodiscard]] const char* format() const noexcept { return view().format; }
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  /// Whether nobody is to change the content; numpy's flag of the array.
  [[nodiscard]] bool read_only() const noexcept { return view().readonly != 0; }
  [[nodiscard]] bool aligned() const noexcept;

  /// Hands the buffer to a tensor. On a thread with the GIL its end releases the buffer at once,
  /// elsewhere it is put on a lock-free list for release_deferred_buffers().
  [[nodiscard]] ort::Owner take() && noexcept { return std::move(held_); }

 private:
  [[nodiscard]] const Py_buffer& view() const noexcept;

  ort::Owner held_;
};

}  // namespace engine
