// The process's one ONNX Runtime: library, env, shared CPU arena, and RAII for its objects.
#pragma once

#include <memory>
#include <string>

#include "ort/api.hpp"

namespace engine::ort {

/// Loads the library, once. Telemetry is switched off before it is touched. The library and its
/// env live until the process ends.
///
/// Thread-safe; blocks while another thread loads. Throws std::runtime_error when the library
/// is missing or too old, or when another path was opened before.
void open_runtime(const std::string& library_path);

/// The version that the library reports, such as "1.31.1". Throws when none is open.
[[nodiscard]] std::string runtime_version();

/// The open library's functions and objects. Immutable once opened, so safe from any thread.
class Runtime {
 public:
  /// Throws std::runtime_error when open_runtime was not called.
  [[nodiscard]] static const Runtime& get();

  Runtime(const Api& api, OrtEnv* env, OrtMemoryInfo* memory, OrtAllocator* allocator)
      : api_(api), env_(env), memory_(memory), allocator_(allocator) {}
  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] OrtEnv* env() const noexcept { return env_; }
  /// CPU memory, for tensors over memory of somebody else.
  [[nodiscard]] const OrtMemoryInfo* memory() const noexcept { return memory_; }
  /// Plain CPU allocator, for names, strings and parts of sequences.
  [[nodiscard]] OrtAllocator* allocator() const noexcept { return allocator_; }

 private:
  const Api& api_;
  OrtEnv* env_;
  OrtMemoryInfo* memory_;
  OrtAllocator* allocator_;
};

/// The functions of the open library.
[[nodiscard]] inline const Api& api() { return Runtime::get().api(); }

/// Frees ONNX Runtime objects; one deleter for all handles.
struct Release {
  void operator()(OrtCUDAProviderOptionsV2* options) const noexcept;
  void operator()(OrtTensorRTProviderOptionsV2* options) const noexcept;
  void operator()(OrtIoBinding* binding) const noexcept;
  void operator()(OrtMemoryInfo* info) const noexcept;
  void operator()(OrtRunOptions* options) const noexcept;
  void operator()(OrtSession* session) const noexcept;
  void operator()(OrtSessionOptions* options) const noexcept;
  void operator()(OrtTensorTypeAndShapeInfo* info) const noexcept;
  void operator()(OrtTypeInfo* info) const noexcept;
  void operator()(OrtValue* value) const noexcept;
  void operator()(char* text) const noexcept;
};

template <typename T>
using Handle = std::unique_ptr<T, Release>;

/// Throws a StatusError with ONNX Runtime's own message and code unless `status` is null.
void check(OrtStatus* status);
/// The same while the library is being opened.
void check_with(const Api& api, OrtStatus* status);

/// Calls an API function whose last argument is where the result goes.
template <typename T, typename Function, typename... Args>
[[nodiscard]] T query(const Function& function, Args... args) {
  T result{};
  check(function(args..., &result));
  return result;
}

/// The same for a function whose result the caller owns.
template <typename T, typename Function, typename... Args>
[[nodiscard]] Handle<T> create(const Function& function, Args... args) {
  return Handle<T>(query<T*>(function, args...));
}

}  // namespace engine::ort
