// How the Python bindings see a Value, shared by all bind_*.cpp.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "devices/kernel.hpp"

namespace engine {

/// What Python's `surplus.engine._core.Value` holds. Bound instead of Value itself: nanobind would
/// otherwise hand out shared_ptrs whose deleter takes the GIL, in whatever lane drops the last
/// one. Take `const PyValue&` (or `PyValue*` with .none()) as argument and copy `.value`.
struct PyValue {
  ValuePtr value;
};

/// Frees Python buffers whose last Value died on a thread without the GIL. Call with the GIL
/// held, at the start of functions that Python calls often. A relaxed load when nothing waits.
void release_deferred_buffers() noexcept;

class PyBuffer;

/// Whether the buffer's items may be read as the ONNX element type.
[[nodiscard]] bool buffer_holds(const PyBuffer& buffer, int elem_type);

/// Whether a value is a tensor.
[[nodiscard]] bool is_tensor(const PyValue& value);

/// A tensor of the str and bytes in a buffer of Python objects, copied; throws
/// nanobind::value_error for anything else.
[[nodiscard]] ValuePtr strings_of(const PyBuffer& buffer);

/// A tensor as a numpy array over its memory; `self` is the Python object of a PyValue.
[[nodiscard]] nanobind::object value_to_numpy(nanobind::handle self);

/// A numpy array over memory that `owner` keeps, of an element type of 8 bits and more; types that
/// numpy lacks come as unsigned integers.
[[nodiscard]] nanobind::object array_over(void* data, int elem_type,
                                          std::span<const std::int64_t> extents,
                                          nanobind::handle owner);

/// The tensors of a sequence as numpy arrays of their own; None for what holds no tensors, or of
/// types that numpy lacks.
[[nodiscard]] nanobind::object sequence_arrays(const PyValue& value);

/// A dict for each row of a tensor of floats; throws nanobind::value_error if it has not as many
/// columns as there are keys.
[[nodiscard]] nanobind::list zip_rows(const PyValue& rows, const nanobind::list& keys,
                                      const std::vector<std::size_t>& columns);

void bind_value(nanobind::module_& m);
void bind_ort(nanobind::module_& m);
void bind_checksum(nanobind::module_& m);
void bind_detached(nanobind::module_& m);
void bind_json(nanobind::module_& m);
void bind_memory(nanobind::module_& m);

}  // namespace engine
