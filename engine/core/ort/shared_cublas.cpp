#include "ort/shared_cublas.hpp"

#include <dlfcn.h>

namespace engine::ort {

namespace {

using Named = void(const void*);

/// A function of the library in front of cuBLAS; null where that was not loaded.
template <typename Function>
Function* found(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

bool shares_cublas() noexcept {
  auto* const is_first = found<int()>("surplus_cublas_is_first");
  return is_first != nullptr && is_first() != 0;
}

SharedCublas::SharedCublas(cuda::StreamHandle lane) noexcept {
  if (auto* const share = found<Named>("surplus_cublas_share")) share(lane);
}

SharedCublas::~SharedCublas() {
  if (auto* const share = found<Named>("surplus_cublas_share")) share(nullptr);
}

void SharedCublas::forget(cuda::StreamHandle lane) noexcept {
  if (auto* const forget = found<Named>("surplus_cublas_forget")) forget(lane);
}

}  // namespace engine::ort
