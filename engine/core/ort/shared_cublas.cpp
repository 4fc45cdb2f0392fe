#include "ort/shared_cublas.hpp"

#include <dlfcn.h>

namespace engine::ort {

namespace {

/// The library in front of cuBLAS; null, all, where that was not loaded.
struct Front {
  using OfStream = void(const void*);

  OfStream* share = found<OfStream>("surplus_cublas_share");
  OfStream* forget = found<OfStream>("surplus_cublas_forget");
  int (*is_first)() = found<int()>("surplus_cublas_is_first");

  /// Looked for once: each run of a session asks, and by then it has long been loaded.
  static const Front& get() noexcept {
    static const Front front;
    return front;
  }

 private:
  template <typename Function>
  static Function* found(const char* name) noexcept {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  }
};

}  // namespace

bool shares_cublas() noexcept {
  const Front& front = Front::get();
  return front.is_first != nullptr && front.is_first() != 0;
}

SharedCublas::SharedCublas(cuda::StreamHandle lane) noexcept {
  if (Front::get().share != nullptr) Front::get().share(lane);
}

SharedCublas::~SharedCublas() {
  if (Front::get().share != nullptr) Front::get().share(nullptr);
}

void SharedCublas::forget(cuda::StreamHandle lane) noexcept {
  if (Front::get().forget != nullptr) Front::get().forget(lane);
}

}  // namespace engine::ort
