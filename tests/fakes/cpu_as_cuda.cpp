// ONNX Runtime with a CUDA provider that is none: a library of the tests, which opens the real
// ONNX Runtime (named in CPU_AS_CUDA_RUNTIME) and hands out its C API with a few functions
// replaced. Sessions on "CUDA" are sessions of the CPU provider over the memory of a fake CUDA
// library, which is the host's. So real models compute right numbers through all that is there for
// a GPU.
//
// A run first waits for its stream, since the host computes at once what a GPU would when the
// stream comes to it. Outputs that a run allocates go to the registered GPU allocator, as the real
// provider's.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ort/api.hpp"

struct OrtCUDAProviderOptionsV2 {
  void* stream = nullptr;
  bool captures = false;
};
struct OrtTensorRTProviderOptionsV2 {};

namespace {

using engine::ort::Api;
using engine::ort::ApiBase;
using engine::ort::Table;

constexpr std::size_t slots = 416;  // of API version 24

struct Shim {
  std::mutex mutex;
  Table real_table = nullptr;
  const Api* real = nullptr;
  std::array<const void*, slots> table{};
  std::map<const OrtMemoryInfo*, OrtAllocator*> gpus;  ///< null until it is registered
  std::map<OrtSessionOptions*, void*> streams_of_options;
  std::map<OrtSession*, void*> streams;
  /// Outputs in the order of binding, and what allocates them in the run, if that does.
  std::map<const OrtIoBinding*, std::vector<std::pair<std::string, OrtAllocator*>>> outputs;
};

Shim& shim() {
  static Shim* const instance = new Shim;
  return *instance;
}

const Api& real() { return *shim().real; }

template <std::size_t kSlot, typename Signature>
auto* original() {
  return reinterpret_cast<Signature*>(const_cast<void*>(shim().real_table[kSlot]));
}

OrtStatus* fail(const char* text) { return original<0, OrtStatus*(int, const char*)>()(1, text); }

OrtStatus* make_options(OrtCUDAProviderOptionsV2** out) {
  *out = new OrtCUDAProviderOptionsV2;
  return nullptr;
}

OrtStatus* update_options(OrtCUDAProviderOptionsV2* options, const char* const* keys,
                          const char* const* values, std::size_t count) {
  *options = {};
  for (std::size_t i = 0; i < count; ++i)
    if (std::strcmp(keys[i], "enable_cuda_graph") == 0)
      options->captures = std::strcmp(values[i], "1") == 0;
  return nullptr;
}

OrtStatus* set_pointer(OrtCUDAProviderOptionsV2* options, const char*, void* value) {
  options->stream = value;
  return nullptr;
}

void release_options(OrtCUDAProviderOptionsV2* options) { delete options; }

OrtStatus* append_cuda(OrtSessionOptions* options, const OrtCUDAProviderOptionsV2* cuda) {
  if (cuda->captures) return fail("the CPU in the place of CUDA has no graphs");
  const std::lock_guard lock(shim().mutex);
  shim().streams_of_options[options] = cuda->stream;
  return nullptr;
}

std::atomic<std::size_t> tensorrt_sessions{0};

/// CUDA's comes after it, and computes all.
OrtStatus* append_tensorrt(OrtSessionOptions*, const OrtTensorRTProviderOptionsV2*) {
  ++tensorrt_sessions;
  return nullptr;
}

OrtStatus* make_tensorrt_options(OrtTensorRTProviderOptionsV2** out) {
  *out = new OrtTensorRTProviderOptionsV2;
  return nullptr;
}

OrtStatus* update_tensorrt_options(OrtTensorRTProviderOptionsV2*, const char* const*,
                                   const char* const*, std::size_t) {
  return nullptr;
}

OrtStatus* set_tensorrt_pointer(OrtTensorRTProviderOptionsV2*, const char*, void*) {
  return nullptr;
}

void release_tensorrt_options(OrtTensorRTProviderOptionsV2* options) { delete options; }

void release_session_options(OrtSessionOptions* options) {
  {
    const std::lock_guard lock(shim().mutex);
    shim().streams_of_options.erase(options);
  }
  real().release_session_options(options);
}

/// All nodes are the CPU's: what forbids that is not passed on.
OrtStatus* add_config_entry(OrtSessionOptions* options, const char* key, const char* value) {
  if (std::strcmp(key, "session.disable_cpu_ep_fallback") == 0) return nullptr;
  return real().add_config_entry(options, key, value);
}

void note_session(OrtSession* session, const OrtSessionOptions* options) {
  const std::lock_guard lock(shim().mutex);
  const auto found = shim().streams_of_options.find(const_cast<OrtSessionOptions*>(options));
  if (found != shim().streams_of_options.end()) shim().streams[session] = found->second;
}

OrtStatus* create_session(const OrtEnv* env, const char* path, const OrtSessionOptions* options,
                          OrtSession** out) {
  OrtStatus* const status = real().create_session(env, path, options, out);
  if (status == nullptr) note_session(*out, options);
  return status;
}

OrtStatus* create_session_from_array(const OrtEnv* env, const void* data, std::size_t bytes,
                                     const OrtSessionOptions* options, OrtSession** out) {
  OrtStatus* const status = real().create_session_from_array(env, data, bytes, options, out);
  if (status == nullptr) note_session(*out, options);
  return status;
}

void release_session(OrtSession* session) {
  {
    const std::lock_guard lock(shim().mutex);
    shim().streams.erase(session);
  }
  real().release_session(session);
}

/// For the runtime, what lies in the fake GPU's memory lies in the host's.
OrtStatus* create_memory_info(const char* name, int allocator, int id, int memory,
                              OrtMemoryInfo** out) {
  const bool is_gpu = std::strcmp(name, "Cuda") == 0;
  OrtStatus* status = real().create_memory_info(is_gpu ? "Cpu" : name, allocator, id, memory, out);
  const std::lock_guard lock(shim().mutex);
  if (is_gpu && status == nullptr) shim().gpus[*out] = nullptr;
  return status;
}

OrtStatus* register_allocator(OrtEnv* env, OrtAllocator* allocator) {
  const std::lock_guard lock(shim().mutex);
  const auto gpu = shim().gpus.find(allocator->Info(allocator));
  if (gpu == shim().gpus.end()) return real().register_allocator(env, allocator);
  gpu->second = allocator;
  return nullptr;
}

OrtAllocator* allocator_of(const OrtMemoryInfo* gpu) {
  const std::lock_guard lock(shim().mutex);
  return shim().gpus.at(gpu);
}

std::vector<std::pair<std::string, OrtAllocator*>>& outputs_of(const OrtIoBinding* binding) {
  const std::lock_guard lock(shim().mutex);
  return shim().outputs[binding];
}

OrtStatus* bind_output(OrtIoBinding* binding, const char* name, const OrtValue* value) {
  outputs_of(binding).emplace_back(name, nullptr);
  return real().bind_output(binding, name, value);
}

OrtStatus* bind_output_to_device(OrtIoBinding* binding, const char* name,
                                 const OrtMemoryInfo* info) {
  outputs_of(binding).emplace_back(name, allocator_of(info));
  return real().bind_output_to_device(binding, name, info);
}

void clear_bound_outputs(OrtIoBinding* binding) {
  outputs_of(binding).clear();
  real().clear_bound_outputs(binding);
}

void release_binding(OrtIoBinding* binding) {
  {
    const std::lock_guard lock(shim().mutex);
    shim().outputs.erase(binding);
  }
  real().release_binding(binding);
}

/// The same tensor in memory of a GPU's allocator.
OrtValue* moved(OrtValue* made, OrtAllocator* allocator) {
  void* data = nullptr;
  std::size_t bytes = 0, rank = 0;
  int type = 0;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  real().tensor_data(made, &data);
  real().tensor_bytes(made, &bytes);
  real().tensor_type_and_shape(made, &info);
  real().dimensions_count(info, &rank);
  std::vector<std::int64_t> shape(rank);
  real().dimensions(info, shape.data(), rank);
  real().tensor_element_type(info, &type);
  real().release_tensor_type(info);
  if (bytes == 0) return made;
  void* const there = allocator->AllocOnStream(allocator, bytes, nullptr);
  std::memcpy(there, data, bytes);
  OrtValue* value = nullptr;
  real().create_tensor_with_deleter(allocator, there, bytes, shape.data(), rank, type, &value);
  real().release_value(made);
  return value;
}

OrtStatus* run_with_binding(OrtSession* session, const OrtRunOptions* options,
                            const OrtIoBinding* binding) {
  void* stream = nullptr;
  {
    const std::lock_guard lock(shim().mutex);
    const auto found = shim().streams.find(session);
    if (found == shim().streams.end()) return fail("a session without a stream");
    stream = found->second;
  }
  const auto synchronize =
      reinterpret_cast<int (*)(void*)>(dlsym(RTLD_DEFAULT, "cudaStreamSynchronize"));
  if (synchronize(stream) != 0) return fail("CUDA failure in cudaStreamSynchronize");
  OrtStatus* const status = real().run_with_binding(session, options, binding);
  if (status != nullptr) return status;
  auto* const bound = const_cast<OrtIoBinding*>(binding);
  OrtAllocator* allocator = nullptr;
  real().get_default_allocator(&allocator);
  OrtValue** values = nullptr;
  std::size_t count = 0;
  if (OrtStatus* error = real().bound_output_values(binding, allocator, &values, &count))
    return error;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [name, gpu] = outputs_of(binding)[i];
    if (gpu != nullptr) {
      values[i] = moved(values[i], gpu);
      real().bind_output(bound, name.c_str(), values[i]);
    }
    real().release_value(values[i]);
  }
  if (values != nullptr) real().allocator_free(allocator, values);
  return nullptr;
}

template <typename Function>
void put(std::size_t slot, Function* function) {
  shim().table[slot] = reinterpret_cast<const void*>(function);
}

Table replaced(Table table) {
  shim().real_table = table;
  shim().real = new Api(table);
  std::copy_n(table, slots, shim().table.begin());
  put(205, make_options);
  put(206, update_options);
  put(263, set_pointer);
  put(204, append_cuda);
  put(208, release_options);
  put(171, make_tensorrt_options);
  put(172, update_tensorrt_options);
  put(261, set_tensorrt_pointer);
  put(170, append_tensorrt);
  put(174, release_tensorrt_options);
  put(100, release_session_options);
  put(130, add_config_entry);
  put(7, create_session);
  put(8, create_session_from_array);
  put(95, release_session);
  put(68, create_memory_info);
  put(176, register_allocator);
  put(137, bind_output);
  put(138, bind_output_to_device);
  put(142, clear_bound_outputs);
  put(135, release_binding);
  put(133, run_with_binding);
  return shim().table.data();
}

const ApiBase& real_base() {
  static const ApiBase* const base = [] {
    const char* const path = std::getenv("CPU_AS_CUDA_RUNTIME");
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    return reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"))();
  }();
  return *base;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) std::size_t cpuAsCudaTensorRtSessions() {
  return tensorrt_sessions;
}

extern "C" __attribute__((visibility("default"))) const ApiBase* OrtGetApiBase() {
  static const ApiBase base{[](std::uint32_t version) -> Table {
                              const Table table = real_base().get_api(version);
                              return table == nullptr ? nullptr : replaced(table);
                            },
                            [] { return real_base().get_version_string(); }};
  return &base;
}
