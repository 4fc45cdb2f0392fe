// cuBLAS handles that sessions of one lane share: a library that is loaded before cuBLAS for all to
// see, so that calls of its two functions that make and end a handle come here.
//
// ONNX Runtime's CUDA provider makes a handle a session. cuBLAS gives each a workspace, which must
// be one block of 32 MiB for products whose inner side is long to be as fast as cuBLAS can make
// them: with less they take up to 2.6 times as long on an H100 (docs/PERFORMANCE.md). A plan has a
// hundred sessions. Those of a lane run one after the other on one stream, so one handle, and one
// workspace, serves all of them, captured graphs included: the stream orders their uses.
//
// Whoever has not said for which stream it makes a handle gets one of its own.
#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int not_initialized = 1;  // CUBLAS_STATUS_NOT_INITIALIZED

using Create = int(void**);
using Destroy = int(void*);

struct Shared {
  void* handle = nullptr;
  std::size_t holders = 0;
};

thread_local const void* stream_of_thread = nullptr;

std::mutex& mutex() {
  static auto* const made = new std::mutex;  // never destroyed: sessions may outlive statics
  return *made;
}

/// By stream. Guarded by mutex().
std::map<const void*, Shared>& all_shared() {
  static auto* const made = new std::map<const void*, Shared>;
  return *made;
}

/// A function of cuBLAS itself, which whoever calls us has loaded; null if it is of neither
/// version.
template <typename Function>
Function* real(const char* name) {
  for (const char* const library : std::array{"libcublas.so.13", "libcublas.so.12"})
    if (void* const opened = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) {
      void* const found = dlsym(opened, name);
      dlclose(opened);  // it stays: only what dlopen counted is taken back
      if (found != nullptr) return reinterpret_cast<Function*>(found);
    }
  return nullptr;
}

}  // namespace

/// What this thread makes handles for from now on; null: each for itself.
EXPORT void surplus_cublas_share(const void* stream) { stream_of_thread = stream; }

/// The stream is about to go, and what shares its handle with it or for good: the next stream at
/// that address is another.
EXPORT void surplus_cublas_forget(const void* stream) {
  const std::lock_guard lock(mutex());
  all_shared().erase(stream);
}

EXPORT int cublasCreate_v2(void** handle) {
  const auto create = real<Create>("cublasCreate_v2");
  if (create == nullptr) return not_initialized;
  if (stream_of_thread == nullptr) return create(handle);
  const std::lock_guard lock(mutex());
  Shared& shared = all_shared()[stream_of_thread];
  if (shared.holders == 0)
    if (const int code = create(&shared.handle); code != 0) {
      all_shared().erase(stream_of_thread);
      return code;
    }
  ++shared.holders;
  *handle = shared.handle;
  return 0;
}

EXPORT int cublasDestroy_v2(void* handle) {
  const auto destroy = real<Destroy>("cublasDestroy_v2");
  if (destroy == nullptr) return not_initialized;
  const std::lock_guard lock(mutex());
  for (auto entry = all_shared().begin(); entry != all_shared().end(); ++entry) {
    if (entry->second.handle != handle) continue;
    if (--entry->second.holders > 0) return 0;
    all_shared().erase(entry);
    break;
  }
  return destroy(handle);
}

/// Whether calls of libraries that are loaded from now on come here.
EXPORT int surplus_cublas_is_first() {
  Dl_info first{}, here{};
  // By the files that they are of: the address of a function of ours may itself be another's.
  dladdr(dlsym(RTLD_DEFAULT, "cublasCreate_v2"), &first);
  dladdr(&not_initialized, &here);
  return first.dli_fbase == here.dli_fbase ? 1 : 0;
}
