#include "devices/cuda/api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace engine::cuda {

namespace {

/// After these no call of the process succeeds any more (CUDA's documentation of cudaError_t), or
/// the device is gone: 3 and 4 before and after the driver's life, 46 unavailable, 100 and 101 no
/// such device, 214 and 220 uncorrectable errors of memory and NVLink, 226 contained memory error,
/// 700-721 failed kernels, 709 among them: the context is gone.
constexpr std::array fatal_codes{3,   4,   46,  100, 101, 214, 220, 226, 700, 702, 709,
                                 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};

std::vector<std::string> candidates(const std::string& path) {
  if (!path.empty()) return {path};
  return {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
}

}  // namespace

Severity severity_of(int code) noexcept {
  return std::ranges::find(fatal_codes, code) != fatal_codes.end() ? Severity::fatal
                                                                   : Severity::recoverable;
}

Library::Library(std::string what, const std::vector<std::string>& names) : what_(std::move(what)) {
  std::string tried;
  for (const std::string& name : names) {
    // Global: ONNX Runtime's CUDA provider must find the same runtime (it has no RUNPATH).
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    path_ = name;
    if (handle_ != nullptr) return;
    tried += std::string(tried.empty() ? "" : "; ") + dlerror();
  }
  throw std::runtime_error(what_ + " cannot be loaded: " + tried);
}

void* Library::symbol(const char* name) const {
  if (void* found = dlsym(handle_, name)) return found;
  throw std::runtime_error(what_ + " " + path_ + " lacks the function " + name);
}

RuntimeLibrary::RuntimeLibrary(const std::string& path)
    : Library("CUDA's runtime library", candidates(path)),
      error_name_(reinterpret_cast<const char* (*)(int)>(symbol("cudaGetErrorName"))) {}

Error RuntimeLibrary::error(int code, const char* call) const {
  const char* name = error_name_(code);
  return {code, std::string(call) + " failed with CUDA error " + std::to_string(code) + " (" +
                    (name != nullptr ? name : "unknown") + ")"};
}

}  // namespace engine::cuda
