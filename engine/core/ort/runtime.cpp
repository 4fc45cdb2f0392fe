#include "ort/runtime.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "memory/refused.hpp"
#include "ort/arena.hpp"
#include "ort/divide.hpp"
#include "ort/pool.hpp"
#include "scheduler/status_error.hpp"

namespace engine::ort {
namespace {

std::atomic<const Runtime*> opened{nullptr};

struct Library {
  std::mutex mutex;
  std::string path;
  std::string version;
};

Library& library() {
  static Library instance;
  return instance;
}

const ApiBase& load_base(const std::string& path) {
  // Linux wheels since 1.29 start an uploader thread and a database unless told before the env.
  ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    throw std::runtime_error("cannot load ONNX Runtime: " + std::string(reason ? reason : path));
  }
  void* symbol = ::dlsym(handle, "OrtGetApiBase");
  if (symbol == nullptr) {
    throw std::runtime_error(path + " is not ONNX Runtime: it does not export OrtGetApiBase");
  }
  return *reinterpret_cast<const ApiBase* (*)()>(symbol)();
}

const Api& load_api(const ApiBase& base, const std::string& path) {
  const Table table = base.get_api(kApiVersion);
  if (table == nullptr) {
    throw std::runtime_error("ONNX Runtime " + std::string(base.get_version_string()) + " (" +
                             path + ") is too old: version 1." + std::to_string(kApiVersion) +
                             " or newer is needed");
  }
  return *new Api(table);  // lives as long as the process, like the library
}

const Runtime* make_runtime(const Api& api) {
  OrtEnv* env = create_env_with_pool(api);
  register_arena(api, env);
  OrtMemoryInfo* memory = nullptr;
  check_with(api, api.create_cpu_memory_info(kDeviceAllocator, kMemTypeDefault, &memory));
  OrtAllocator* allocator = nullptr;
  check_with(api, api.get_default_allocator(&allocator));
  return new Runtime(api, env, memory, allocator);
}

}  // namespace

void check_with(const Api& api, OrtStatus* status) {
  if (status == nullptr) return;
  const int code = api.get_error_code(status);
  const std::string text = api.get_error_message(status);
  api.release_status(status);
  if (MemoryRefused::is_said_by(text))
    throw StatusError(MemoryRefused::kCode, MemoryRefused::cut_from(text));
  throw StatusError(code, text);
}

void open_runtime(const std::string& library_path) {
  Library& current = library();
  const std::lock_guard lock(current.mutex);
  if (current.path == library_path) return;
  if (!current.path.empty()) {
    throw std::runtime_error("ONNX Runtime is already loaded from " + current.path +
                             "; it cannot be loaded again from " + library_path);
  }
  const ApiBase& base = load_base(library_path);
  define_divisions(reinterpret_cast<const void*>(base.get_version_string));
  const Runtime* runtime = make_runtime(load_api(base, library_path));
  current.version = base.get_version_string();
  current.path = library_path;
  opened.store(runtime, std::memory_order_release);  // publishes everything above
}

std::string runtime_version() {
  Library& current = library();
  const std::lock_guard lock(current.mutex);
  if (current.path.empty()) throw std::runtime_error("ONNX Runtime is not loaded");
  return current.version;
}

const Runtime& Runtime::get() {
  const Runtime* runtime = opened.load(std::memory_order_acquire);  // pairs with open_runtime
  if (runtime == nullptr) {
    throw std::runtime_error("ONNX Runtime is not loaded; call open_runtime first");
  }
  return *runtime;
}

void check(OrtStatus* status) {
  if (status != nullptr) check_with(Runtime::get().api(), status);
}

void Release::operator()(OrtCUDAProviderOptionsV2* options) const noexcept {
  Runtime::get().api().release_cuda_options(options);
}
void Release::operator()(OrtTensorRTProviderOptionsV2* options) const noexcept {
  Runtime::get().api().release_tensorrt_options(options);
}
void Release::operator()(OrtIoBinding* binding) const noexcept {
  Runtime::get().api().release_binding(binding);
}
void Release::operator()(OrtMemoryInfo* info) const noexcept {
  Runtime::get().api().release_memory_info(info);
}
void Release::operator()(OrtRunOptions* options) const noexcept {
  Runtime::get().api().release_run_options(options);
}
void Release::operator()(OrtSession* session) const noexcept {
  Runtime::get().api().release_session(session);
}
void Release::operator()(OrtSessionOptions* options) const noexcept {
  Runtime::get().api().release_session_options(options);
}
void Release::operator()(OrtTensorTypeAndShapeInfo* info) const noexcept {
  Runtime::get().api().release_tensor_type(info);
}
void Release::operator()(OrtTypeInfo* info) const noexcept {
  Runtime::get().api().release_type_info(info);
}
void Release::operator()(OrtValue* value) const noexcept {
  Runtime::get().api().release_value(value);
}
void Release::operator()(char* text) const noexcept {
  const Runtime& runtime = Runtime::get();
  if (OrtStatus* status = runtime.api().allocator_free(runtime.allocator(), text)) {
    runtime.api().release_status(status);
  }
}

}  // namespace engine::ort
