// CUDA's runtime functions, loaded when a machine has a GPU: no headers, nothing to link against.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace engine::cuda {

/// cudaStream_t and cudaEvent_t: opaque to us, too.
using StreamHandle = struct OpaqueStream*;
using EventHandle = struct OpaqueEvent*;
/// cudaGraph_t and cudaGraphExec_t.
using GraphHandle = struct OpaqueGraph*;
using ExecutableHandle = struct OpaqueExecutable*;

/// What an error code means for us.
enum class Severity {
  recoverable,  ///< the call failed; the device goes on (2: out of memory, 600: not ready, ...)
  fatal         ///< the process has lost the device: every later call fails too
};

[[nodiscard]] Severity severity_of(int code) noexcept;

inline constexpr int out_of_memory = 2;
inline constexpr int not_ready = 600;

/// Whether a call was refused because of a capture, somewhere in the process: nothing is wrong with
/// what it asked about.
[[nodiscard]] constexpr bool is_of_a_capture(int code) noexcept {
  return code >= 900 && code <= 908;
}

/// A CUDA call that failed. The text names call, code and CUDA's name for it.
class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] bool is_fatal() const noexcept { return severity_of(code_) == Severity::fatal; }

 private:
  const int code_;
};

/// The open library. Never closed: CUDA does not survive being unloaded.
class Library {
 public:
  /// Opens the first of `names` that there is. Throws std::runtime_error saying what was tried and
  /// why it failed; `what` says what it is.
  Library(std::string what, const std::vector<std::string>& names);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;

  /// Throws std::runtime_error naming the library and the missing function.
  [[nodiscard]] virtual void* symbol(const char* name) const;
  [[nodiscard]] virtual Error error(int code, const char* call) const = 0;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  const std::string what_;
  std::string path_;
  void* handle_ = nullptr;
};

/// libcudart.so.
class RuntimeLibrary final : public Library {
 public:
  /// `path`, or the usual names if it is empty. Throws std::runtime_error.
  explicit RuntimeLibrary(const std::string& path);
  [[nodiscard]] Error error(int code, const char* call) const override;

 private:
  const char* (*const error_name_)(int);
};

/// One function. Thread-safe.
template <typename... Args>
class Function {
 public:
  Function(const Library& library, const char* name)
      : library_(library),
        name_(name),
        function_(reinterpret_cast<int (*)(Args...)>(library.symbol(name))) {}

  /// Throws Error unless it succeeds.
  void operator()(Args... args) const {
    if (const int code = function_(args...); code != 0) throw library_.error(code, name_);
  }
  /// CUDA's own result; for destructors, and where a failure is an answer.
  int code(Args... args) const noexcept { return function_(args...); }

 private:
  const Library& library_;
  const char* name_;
  int (*function_)(Args...);
};

/// The functions that we use. Immutable, thread-safe.
class Api {
 private:
  RuntimeLibrary library_;  // first: the initialisers below read it

 public:
  explicit Api(const std::string& path) : library_(path) {}
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  [[nodiscard]] const Library& library() const noexcept { return library_; }

  Function<int*> runtime_version{library_, "cudaRuntimeGetVersion"};
  Function<int*> device_count{library_, "cudaGetDeviceCount"};
  Function<int> set_device{library_, "cudaSetDevice"};
  Function<int*> get_device{library_, "cudaGetDevice"};
  Function<int*, int, int> can_access_peer{library_, "cudaDeviceCanAccessPeer"};
  Function<int, unsigned> enable_peer_access{library_, "cudaDeviceEnablePeerAccess"};
  Function<char*, int, int> bus_id{library_, "cudaDeviceGetPCIBusId"};
  Function<std::size_t*, std::size_t*> memory_info{library_, "cudaMemGetInfo"};
  Function<StreamHandle*, unsigned, int> stream_create{library_, "cudaStreamCreateWithPriority"};
  Function<StreamHandle> stream_destroy{library_, "cudaStreamDestroy"};
  Function<StreamHandle> stream_query{library_, "cudaStreamQuery"};
  Function<StreamHandle> stream_synchronize{library_, "cudaStreamSynchronize"};
  Function<StreamHandle, EventHandle, unsigned> stream_wait_event{library_, "cudaStreamWaitEvent"};
  Function<EventHandle*, unsigned> event_create{library_, "cudaEventCreateWithFlags"};
  Function<EventHandle, StreamHandle> event_record{library_, "cudaEventRecord"};
  Function<EventHandle> event_query{library_, "cudaEventQuery"};
  Function<EventHandle> event_destroy{library_, "cudaEventDestroy"};
  Function<void**, std::size_t> device_allocate{library_, "cudaMalloc"};
  Function<void*> device_free{library_, "cudaFree"};
  Function<void**, std::size_t, unsigned> host_allocate{library_, "cudaHostAlloc"};
  Function<void*> host_free{library_, "cudaFreeHost"};
  Function<void*, const void*, std::size_t, int, StreamHandle> copy_async{library_,
                                                                          "cudaMemcpyAsync"};
  /// Target and its GPU, source and its GPU. Directly where peer access is enabled, else CUDA goes
  /// through the host's memory by itself.
  Function<void*, int, const void*, int, std::size_t, StreamHandle> copy_peer_async{
      library_, "cudaMemcpyPeerAsync"};
  Function<StreamHandle, int> stream_begin_capture{library_, "cudaStreamBeginCapture"};
  Function<StreamHandle, GraphHandle*> stream_end_capture{library_, "cudaStreamEndCapture"};
  Function<int*> exchange_capture_mode{library_, "cudaThreadExchangeStreamCaptureMode"};
  Function<StreamHandle, int*> stream_is_capturing{library_, "cudaStreamIsCapturing"};
  Function<ExecutableHandle*, GraphHandle, unsigned long long> graph_instantiate{
      library_, "cudaGraphInstantiate"};
  Function<ExecutableHandle, StreamHandle> graph_launch{library_, "cudaGraphLaunch"};
  Function<GraphHandle> graph_destroy{library_, "cudaGraphDestroy"};
  Function<ExecutableHandle> executable_destroy{library_, "cudaGraphExecDestroy"};
  Function<> last_error{library_, "cudaGetLastError"};
  Function<> device_reset{library_, "cudaDeviceReset"};
};

inline constexpr unsigned stream_non_blocking = 1;   ///< cudaStreamNonBlocking
inline constexpr unsigned event_without_timing = 2;  ///< cudaEventDisableTiming
inline constexpr int host_to_device = 1;
inline constexpr int device_to_host = 2;
inline constexpr int device_to_device = 3;
// cudaStreamCaptureMode: which captures a thread's calls may end, cuda/captures.hpp.
inline constexpr int capture_global = 0;
inline constexpr int capture_thread_local = 1;
inline constexpr int capture_relaxed = 2;

using ApiPtr = std::shared_ptr<const Api>;

}  // namespace engine::cuda
