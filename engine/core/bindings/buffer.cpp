#include "bindings/buffer.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "bindings/released_gil.hpp"
#include "bindings/value.hpp"

namespace engine {
namespace {

struct Held {
  Py_buffer view{};
  Held* next = nullptr;
};

std::atomic<Held*> deferred{nullptr};

void release(Held* held) noexcept {
  PyBuffer_Release(&held->view);
  delete held;
}

void defer(Held* held) noexcept {
  held->next = deferred.load(std::memory_order_relaxed);  // the exchange below checks it
  // release: whoever drains sees the node's contents
  while (!deferred.compare_exchange_weak(held->next, held, std::memory_order_release,
                                         std::memory_order_relaxed)) {
  }
}

void release_or_defer(void* pointer) noexcept {
  auto* held = static_cast<Held*>(pointer);
  if (Py_IsInitialized() == 0) return;  // the interpreter is gone and its memory with it
  if (ReleasedGil::is_held()) {
    release(held);
  } else {
    defer(held);
  }
}

}  // namespace

void release_deferred_buffers() noexcept {
  if (deferred.load(std::memory_order_relaxed) == nullptr) return;     // a missed one waits a call
  Held* held = deferred.exchange(nullptr, std::memory_order_acquire);  // pairs with defer()
  while (held != nullptr) {
    Held* next = held->next;
    release(held);
    held = next;
  }
}

PyBuffer::PyBuffer(PyObject* object) : held_(nullptr, nullptr) {
  auto held = std::make_unique<Held>();
  if (PyObject_GetBuffer(object, &held->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    throw nanobind::python_error();
  }
  held_ = {held.release(), &release_or_defer};
}

const Py_buffer& PyBuffer::view() const noexcept { return static_cast<Held*>(held_.get())->view; }

std::vector<std::int64_t> PyBuffer::shape() const {
  return {view().shape, view().shape + view().ndim};
}

bool PyBuffer::aligned() const noexcept {
  const std::size_t needed = std::clamp<std::size_t>(item_bytes(), 1, alignof(std::max_align_t));
  return reinterpret_cast<std::uintptr_t>(data()) % needed == 0;
}

}  // namespace engine
