// An ONNX Runtime without kernels that checks how its CUDA provider is used. A shared library of
// the tests, opened as the real one would be: its face is the C API's table of functions, by
// number.
//
// A run on the GPU is one kernel on the fake CUDA library's stream, which reads the inputs and
// weights and writes scratch memory and the outputs; so the fake CUDA library sees every access.
// What ONNX Runtime does and is easy to trip over is done here, too: provider options given as
// strings reset the stream, a kernel takes the thread's last CUDA error for its own, an output that
// a run has allocated stays bound, scratch memory goes back when the run returns.
#include "fake_ort.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../ort/api.hpp"
#include "fake_cuda.hpp"

namespace {

constexpr int int64_type = 7;

struct Counts {
  std::map<std::string, std::size_t> of;
  std::vector<std::string> broken;
  std::size_t broken_count = 0;
};

struct Fake {
  std::recursive_mutex mutex;
  Counts counts;
  std::size_t objects = 0;
  bool has_cuda = true, has_tensorrt = true;
  std::map<int, OrtAllocator*> gpu_allocators, pinned_allocators;
  std::set<const void*> of_process;  ///< found here, what lives as long as the process is no leak
};

Fake& fake() {
  static Fake* const instance = new Fake;
  return *instance;
}

using Lock = std::lock_guard<std::recursive_mutex>;

void violation(const std::string& what) {
  const Lock lock(fake().mutex);
  ++fake().counts.broken_count;
  if (fake().counts.broken.size() < 8) fake().counts.broken.push_back(what);
}

void count(const char* what) {
  const Lock lock(fake().mutex);
  ++fake().counts.of[what];
}

/// Counted while it lives.
struct Object {
  Object() {
    const Lock lock(fake().mutex);
    ++fake().objects;
  }
  Object(const Object&) : Object() {}
  ~Object() {
    const Lock lock(fake().mutex);
    --fake().objects;
  }
};

/// A function of the fake CUDA library, which is loaded for all.
template <typename... Args>
int cuda(const char* name, Args... args) {
  const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(RTLD_DEFAULT, name));
  return function(args...);
}

struct Tensor : Object {
  std::vector<std::int64_t> shape;
  void* data = nullptr;
  std::size_t bytes = 0;
  int type = int64_type;
  bool is_gpu = false, owns = false;
  std::function<void()> free = [] {};

  ~Tensor() { free(); }
};

using TensorPtr = std::shared_ptr<Tensor>;

struct Port {
  std::string name;
  std::int64_t count = -1;
  std::int64_t number = 0;
};

struct Model {
  std::vector<Port> inputs, weights, outputs;
  bool defers = false, flow = false, host = false, lies = false, own = false, tries = false;
};

Model parse(const std::string& bytes) {
  Model model;
  const std::size_t begin = bytes.find("fake:");
  if (begin == bytes.npos) return model;
  std::istringstream parts(bytes.substr(begin + 5, bytes.find(";;", begin) - begin - 5));
  for (std::string part; std::getline(parts, part, ';');) {
    std::istringstream words(part);
    std::string kind, count;
    Port port;
    words >> kind >> port.name >> count >> port.number;
    if (!count.empty() && count != "?") port.count = std::stoll(count);
    if (kind == "in") model.inputs.push_back(port);
    if (kind == "weight") model.weights.push_back(port);
    if (kind == "out") model.outputs.push_back(port);
    model.defers |= kind == "defers";
    model.flow |= kind == "flow";
    model.host |= kind == "host";
    model.lies |= kind == "lies";
    model.own |= kind == "own";
    model.tries |= kind == "tries";
  }
  return model;
}

/// What a kernel does when its stream comes to it. Never freed: graphs do it again.
struct Work {
  std::vector<const std::int64_t*> reads;
  std::vector<std::pair<std::int64_t*, std::size_t>> writes;
  std::int64_t add = 1;
};

void work(void* argument) {
  const Work& all = *static_cast<const Work*>(argument);
  std::int64_t sum = all.add;
  for (const std::int64_t* number : all.reads) sum += *number;
  for (const auto& [target, size] : all.writes) std::fill_n(target, size, sum);
}

}  // namespace

// --- what the C API only has pointers to ---

struct OrtStatus {
  std::string text;
};
struct OrtEnv {};
struct OrtThreadingOptions {};
struct OrtMemoryInfo : Object {
  bool is_gpu = false, is_pinned = false;
  int id = 0;
};
struct OrtTensorTypeAndShapeInfo : Object {
  std::vector<std::int64_t> shape;
};
struct OrtTypeInfo : Object {
  OrtTensorTypeAndShapeInfo tensor;
};
struct OrtValue : Object {
  TensorPtr tensor;
};
struct OrtRunOptions : Object {
  std::map<std::string, std::string> entries;
};
struct OrtCUDAProviderOptionsV2 : Object {
  std::map<std::string, std::string> entries;
  void* stream = nullptr;
};
struct OrtTensorRTProviderOptionsV2 : OrtCUDAProviderOptionsV2 {};
struct OrtSessionOptions : Object {
  std::map<std::string, std::string> entries;
  std::map<std::string, TensorPtr> initializers;
  bool has_cuda = false;
  std::map<std::string, std::string> cuda_entries, tensorrt_entries;
  void *stream = nullptr, *tensorrt_stream = nullptr;
};
struct OrtSession : Object {
  Model model;
  bool on_gpu = false, captures = false;
  void* stream = nullptr;
  OrtAllocator *allocator = nullptr, *pinned = nullptr;
  std::thread::id creator = std::this_thread::get_id();
  std::atomic<int> runs{0}, running{0};
  std::map<std::string, TensorPtr> weights;
  TensorPtr workspace;
  std::vector<void*> deferred;  ///< pinned memory that kernels have left
  void* executable = nullptr;
};
struct OrtIoBinding : Object {
  struct Output {
    std::string name;
    TensorPtr tensor;
  };
  OrtSession* session = nullptr;
  std::map<std::string, TensorPtr> inputs;
  mutable std::vector<Output> outputs;
};

namespace {

OrtStatus* fail(const std::string& text) { return new OrtStatus{text}; }
OrtStatus* unexpected() {
  violation("a function of the C API that the fake does not have");
  return fail("not faked");
}

void check_thread(const OrtSession& session, const char* what) {
  if (session.on_gpu && session.creator != std::this_thread::get_id())
    violation(std::string(what) + " a session on another thread than it was made on");
}

std::int64_t count_of(const Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.bytes / sizeof(std::int64_t));
}

/// A tensor of the session's own, from the registered allocator or as `own` memory.
TensorPtr allocate(const OrtSession& session, std::int64_t numbers, bool own = false) {
  auto tensor = std::make_shared<Tensor>();
  tensor->shape = {numbers};
  tensor->bytes = static_cast<std::size_t>(numbers) * sizeof(std::int64_t);
  tensor->is_gpu = tensor->owns = true;
  if (tensor->bytes == 0) return tensor;
  if (own) {
    cuda("cudaMalloc", &tensor->data, tensor->bytes);
    tensor->free = [data = tensor->data] { cuda("cudaFree", data); };
    return tensor;
  }
  OrtAllocator* const allocator = session.allocator;
  tensor->data = allocator->AllocOnStream(allocator, tensor->bytes, nullptr);
  tensor->free = [allocator, data = tensor->data] { allocator->Free(allocator, data); };
  return tensor;
}

class Kernel {
 public:
  void read(const Tensor& tensor) {
    if (tensor.bytes == 0) return;
    add(tensor, false);
    work_->reads.push_back(static_cast<const std::int64_t*>(tensor.data));
  }
  void write(const Tensor& tensor) {
    if (tensor.bytes == 0) return;
    add(tensor, true);
    work_->writes.emplace_back(static_cast<std::int64_t*>(tensor.data),
                               static_cast<std::size_t>(count_of(tensor)));
  }
  void add(std::int64_t number) { work_->add = number; }
  OrtStatus* launch(void* stream) {
    // As CUDA kernels of ONNX Runtime do: the last error of the thread is taken for theirs.
    int code = cuda("cudaGetLastError");
    if (code == 0)
      code = cuda("fakeCudaLaunch", stream, static_cast<const FakeCudaAccess*>(accesses_.data()),
                  accesses_.size(), &work, static_cast<void*>(work_));
    return code == 0 ? nullptr : fail("CUDA failure " + std::to_string(code));
  }

 private:
  void add(const Tensor& tensor, bool writes) {
    accesses_.push_back({tensor.data, tensor.bytes, writes});
  }
  Work* const work_ = [] {
    static auto* const all = new std::deque<Work>;
    const Lock lock(fake().mutex);
    return &all->emplace_back();
  }();
  std::vector<FakeCudaAccess> accesses_;
};

/// Binds the outputs that the run allocates and checks the others.
OrtStatus* prepare_outputs(const OrtSession& session, const OrtIoBinding& binding,
                           std::int64_t open_count) {
  for (const Port& port : session.model.outputs) {
    const auto bound = std::ranges::find(binding.outputs, port.name, &OrtIoBinding::Output::name);
    if (bound == binding.outputs.end()) continue;
    const std::int64_t numbers =
        (port.count < 0 ? open_count : port.count) + (session.model.lies ? 1 : 0);
    if (bound->tensor == nullptr)
      bound->tensor = allocate(session, numbers, session.model.own);
    else if (count_of(*bound->tensor) != numbers)
      return fail("OrtValue shape verification failed for output " + port.name);
  }
  return nullptr;
}

OrtStatus* run_once(OrtSession& session, const OrtIoBinding& binding) {
  Kernel kernel;
  std::int64_t open_count = 0;
  for (const Port& port : session.model.inputs) {
    const auto bound = binding.inputs.find(port.name);
    if (bound == binding.inputs.end()) return fail("Missing Input: " + port.name);
    if (!bound->second->is_gpu) violation("an input that is not on the GPU");
    const std::int64_t numbers = count_of(*bound->second);
    if (port.count >= 0 && port.count != numbers)
      return fail("Got invalid dimensions for input: " + port.name);
    if (&port == &session.model.inputs.front()) open_count = numbers;
    kernel.read(*bound->second);
  }
  for (const auto& [name, weight] : session.weights) kernel.read(*weight);
  const TensorPtr scratch = allocate(session, 16);
  kernel.write(*scratch);
  if (OrtStatus* status = prepare_outputs(session, binding, open_count)) return status;
  for (const OrtIoBinding::Output& output : binding.outputs) kernel.write(*output.tensor);
  return kernel.launch(session.stream);
}

OrtStatus* capture(OrtSession& session, const OrtIoBinding& binding) {
  for (int warm_up = 0; warm_up < 2; ++warm_up)
    if (OrtStatus* status = run_once(session, binding)) return status;
  cuda("cudaStreamSynchronize", session.stream);
  if (const int code = cuda("cudaStreamBeginCapture", session.stream, 0); code != 0)
    return fail("CUDA failure " + std::to_string(code));
  if (OrtStatus* status = run_once(session, binding)) return status;
  void* graph = nullptr;
  int code = cuda("cudaStreamEndCapture", session.stream, &graph);
  if (code == 0) code = cuda("cudaGraphInstantiate", &session.executable, graph, 0ULL);
  if (graph != nullptr) cuda("cudaGraphDestroy", graph);
  if (code == 0) code = cuda("cudaGraphLaunch", session.executable, session.stream);
  if (code != 0) return fail("CUDA failure " + std::to_string(code));
  count("captures");
  return nullptr;
}

OrtStatus* replay(OrtSession& session) {
  const int code = cuda("cudaGraphLaunch", session.executable, session.stream);
  if (code != 0) return fail("CUDA failure " + std::to_string(code));
  count("replays");
  return nullptr;
}

/// As the provider does with pinned memory of an allocator that is no arena.
void free_deferred(OrtSession& session) {
  if (session.deferred.empty()) return;
  cuda("cudaStreamSynchronize", session.stream);
  for (void* const block : session.deferred) session.pinned->Free(session.pinned, block);
  session.deferred.clear();
}

/// Without the option at the end, a run waits for itself and pinned memory comes back.
void end_run(OrtSession& session, const OrtRunOptions& options) {
  const auto disabled = options.entries.find("disable_synchronize_execution_providers");
  if (disabled == options.entries.end() || disabled->second != "1") {
    cuda("cudaStreamSynchronize", session.stream);
    free_deferred(session);
    return count("synchronised");
  }
  if (!session.model.defers) return;
  session.deferred.push_back(session.pinned->Alloc(session.pinned, 64));
  const Lock lock(fake().mutex);
  std::size_t& most = fake().counts.of["deferred"];
  most = std::max(most, session.deferred.size());
}

/// One run at a time. What the provider keeps for a thread it makes where the session is opened,
/// and gives back at the end of a run there: an earlier one of another thread would make it twice.
/// Graphs stay with their thread.
class Running {
 public:
  explicit Running(OrtSession& session) : session_(session) {
    // relaxed, all: counts; a run too many at once is seen as such often enough
    if (session.running.fetch_add(1, std::memory_order_relaxed) != 0)
      violation("running a session twice at once");
    if (session.runs.fetch_add(1, std::memory_order_relaxed) == 0 || session.captures)
      check_thread(session, "running");
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { session_.running.fetch_sub(1, std::memory_order_relaxed); }

 private:
  OrtSession& session_;
};

OrtStatus* run_with_binding(OrtSession* session, const OrtRunOptions* options,
                            const OrtIoBinding* binding) try {
  count("runs");
  const Running running(*session);
  if (binding->session != session) violation("a binding of another session");
  OrtStatus* const status = session->executable != nullptr ? replay(*session)
                            : session->captures            ? capture(*session, *binding)
                                                           : run_once(*session, *binding);
  if (status == nullptr) end_run(*session, *options);
  return status;
} catch (const std::exception& error) {
  return fail(std::string("Non-zero status code returned: ") + error.what());
}

// --- sessions ---

OrtStatus* take_weight(OrtSession& session, const OrtSessionOptions& options, const Port& port) {
  const auto given = options.initializers.find(port.name);
  if (given != options.initializers.end() && given->second->is_gpu) {
    session.weights[port.name] = given->second;
    count("shared");
    return nullptr;
  }
  count("copied");
  const TensorPtr copied = allocate(session, port.count);
  session.weights[port.name] = copied;
  Kernel kernel;
  kernel.write(*copied);
  kernel.add(port.number);
  return kernel.launch(session.stream);
}

OrtStatus* open_on_gpu(OrtSession& session, const OrtSessionOptions& options) {
  const auto entry = [&options](const char* key) {
    const auto found = options.entries.find(key);
    return found == options.entries.end() ? std::string() : found->second;
  };
  session.on_gpu = true;
  session.stream = options.stream;
  const bool has_tensorrt = !options.tensorrt_entries.empty();
  session.captures = options.cuda_entries.at("enable_cuda_graph") == "1";
  if (has_tensorrt) {
    if (session.captures) violation("a graph of CUDA's operators where TensorRT has them");
    session.captures = options.tensorrt_entries.at("trt_cuda_graph_enable") == "1";
    if (options.tensorrt_stream != options.stream) violation("TensorRT on a stream of its own");
    count("tensorrt");
    if (options.tensorrt_entries.count("trt_engine_cache_path") > 0) count("engine caches");
  }
  if (session.stream == nullptr) violation("a session without a user's stream");
  if (entry("session.use_env_allocators") != "1") violation("a session with an arena of its own");
  if (session.model.host && entry("session.disable_cpu_ep_fallback") == "1")
    return fail(
        "This session contains graph nodes that are assigned to the default CPU EP, but "
        "fallback to CPU EP has been explicitly disabled by the user.");
  if (session.model.flow && session.captures)
    return fail(
        "This session cannot use the CUDA Graph feature as requested by the user as the "
        "model has control flow nodes");
  // Making cuBLAS' and cuDNN's handles waits for the whole device.
  if (const int code = cuda("fakeCudaWaitForAll", "cudaDeviceSynchronize"); code != 0)
    return fail("CUDA failure " + std::to_string(code));
  const int ordinal = std::stoi(options.cuda_entries.at("device_id"));
  session.allocator = fake().gpu_allocators.at(ordinal);
  // An arena of its own would end in a host function, which may free nothing.
  session.pinned = fake().pinned_allocators.at(ordinal);
  session.workspace = allocate(session, 32);
  for (const Port& port : session.model.weights)
    if (OrtStatus* status = take_weight(session, options, port)) return status;
  if (session.model.tries) {
    Kernel kernel;
    const TensorPtr tried = allocate(session, 512);
    kernel.write(*tried);
    if (OrtStatus* status = kernel.launch(session.stream)) return status;
  }
  count("opened");
  if (options.cuda_entries.at("use_tf32") == "1") count("tf32");
  const Lock lock(fake().mutex);
  ++fake().counts.of["sessions"];
  return nullptr;
}

OrtStatus* open(const std::string& bytes, const OrtSessionOptions* options, OrtSession** out) try {
  auto session = std::make_unique<OrtSession>();
  session->model = parse(bytes);
  if (options->has_cuda)
    if (OrtStatus* status = open_on_gpu(*session, *options)) return status;
  if (!session->on_gpu) {
    const Lock lock(fake().mutex);
    fake().of_process.insert(session.get());
  }
  *out = session.release();
  return nullptr;
} catch (const std::exception& error) {
  return fail(error.what());
}

OrtStatus* create_session(const OrtEnv*, const char* path, const OrtSessionOptions* options,
                          OrtSession** out) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!(content << file.rdbuf())) return fail(std::string("Load model from ") + path + " failed");
  return open(content.str(), options, out);
}

OrtStatus* create_session_from_array(const OrtEnv*, const void* data, std::size_t bytes,
                                     const OrtSessionOptions* options, OrtSession** out) {
  return open(std::string(static_cast<const char*>(data), bytes), options, out);
}

void release_session(OrtSession* session) {
  check_thread(*session, "destroying");
  if (session->on_gpu) {
    const int code = cuda("cudaStreamQuery", session->stream);
    if (code != 0 && code != 600) violation("a session is destroyed on a lost device");
    if (session->executable != nullptr) cuda("cudaGraphExecDestroy", session->executable);
    free_deferred(*session);
    const Lock lock(fake().mutex);
    --fake().counts.of["sessions"];
  } else {
    const Lock lock(fake().mutex);
    fake().of_process.erase(session);
  }
  delete session;
}

template <std::vector<Port> Model::* kPorts>
OrtStatus* port_count(const OrtSession* session, std::size_t* out) {
  *out = (session->model.*kPorts).size();
  return nullptr;
}

template <std::vector<Port> Model::* kPorts>
OrtStatus* port_name(const OrtSession* session, std::size_t index, OrtAllocator*, char** out) {
  *out = strdup((session->model.*kPorts)[index].name.c_str());
  return nullptr;
}

template <std::vector<Port> Model::* kPorts>
OrtStatus* port_type(const OrtSession* session, std::size_t index, OrtTypeInfo** out) {
  *out = new OrtTypeInfo;
  (*out)->tensor.shape = {(session->model.*kPorts)[index].count};
  return nullptr;
}

OrtStatus* no_ports(const OrtSession*, std::size_t* out) {
  *out = 0;
  return nullptr;
}

// --- options ---

template <typename T>
OrtStatus* make(T** out) {
  *out = new T;
  return nullptr;
}
template <typename T>
void release(T* object) {
  delete object;
}
template <typename T, typename... Args>
OrtStatus* ignore(T*, Args...) {
  return nullptr;
}

OrtStatus* add_entry(OrtSessionOptions* options, const char* key, const char* value) {
  options->entries[key] = value;
  return nullptr;
}

OrtStatus* add_run_entry(OrtRunOptions* options, const char* key, const char* value) {
  options->entries[key] = value;
  return nullptr;
}

OrtStatus* add_initializer(OrtSessionOptions* options, const char* name, const OrtValue* value) {
  if (value->tensor->owns)
    return fail("Buffer containing the initializer must be owned by the user");
  options->initializers[name] = value->tensor;
  return nullptr;
}

OrtStatus* make_cuda_options(OrtCUDAProviderOptionsV2** out) {
  if (!fake().has_cuda) return fail("CUDA execution provider is not enabled in this build.");
  return make(out);
}

OrtStatus* update_cuda_options(OrtCUDAProviderOptionsV2* options, const char* const* keys,
                               const char* const* values, std::size_t size) {
  options->stream = nullptr;  // strings set all fields anew
  for (std::size_t i = 0; i < size; ++i) options->entries[keys[i]] = values[i];
  return nullptr;
}

OrtStatus* set_cuda_pointer(OrtCUDAProviderOptionsV2* options, const char* key, void* value) {
  if (std::string(key) != "user_compute_stream") return fail("unknown provider option");
  options->stream = value;
  return nullptr;
}

OrtStatus* append_cuda(OrtSessionOptions* options, const OrtCUDAProviderOptionsV2* cuda_options) {
  options->has_cuda = true;
  options->cuda_entries = cuda_options->entries;
  options->stream = cuda_options->stream;
  return nullptr;
}

OrtStatus* append_tensorrt(OrtSessionOptions* options,
                           const OrtTensorRTProviderOptionsV2* tensorrt_options) {
  if (options->has_cuda) violation("TensorRT's provider after CUDA's, which leaves it nothing");
  options->tensorrt_entries = tensorrt_options->entries;
  options->tensorrt_stream = tensorrt_options->stream;
  return nullptr;
}

OrtStatus* make_tensorrt_options(OrtTensorRTProviderOptionsV2** out) {
  if (!fake().has_tensorrt)
    return fail("TensorRT execution provider is not enabled in this build.");
  return make(out);
}

OrtStatus* update_tensorrt_options(OrtTensorRTProviderOptionsV2* options, const char* const* keys,
                                   const char* const* values, std::size_t size) {
  return update_cuda_options(options, keys, values, size);
}

OrtStatus* set_tensorrt_pointer(OrtTensorRTProviderOptionsV2* options, const char* key,
                                void* value) {
  return set_cuda_pointer(options, key, value);
}

// --- memory and values ---

OrtStatus* make_memory_info(const char* name, int, int id, int, OrtMemoryInfo** out) {
  *out = new OrtMemoryInfo;
  (*out)->is_gpu = std::string(name) == "Cuda";
  (*out)->is_pinned = std::string(name) == "CudaPinned";
  (*out)->id = id;
  return nullptr;
}

OrtStatus* make_cpu_memory_info(int, int, OrtMemoryInfo** out) {
  *out = new OrtMemoryInfo;
  const Lock lock(fake().mutex);
  fake().of_process.insert(*out);
  return nullptr;
}

OrtAllocator* host_allocator() {
  static OrtMemoryInfo* const info = new OrtMemoryInfo;
  static OrtAllocator allocator{
      OrtAllocator::kVersion, [](OrtAllocator*, std::size_t bytes) { return std::malloc(bytes); },
      [](OrtAllocator*, void* block) { std::free(block); },
      [](const OrtAllocator*) -> const OrtMemoryInfo* { return info; },
      [](OrtAllocator*, std::size_t bytes) { return std::malloc(bytes); }};
  return &allocator;
}

OrtStatus* get_allocator(OrtAllocator** out) {
  *out = host_allocator();
  return nullptr;
}

OrtStatus* session_allocator(const OrtSession*, const OrtMemoryInfo*, OrtAllocator** out) {
  return get_allocator(out);
}

OrtStatus* free_host(OrtAllocator*, void* block) {
  std::free(block);
  return nullptr;
}

OrtStatus* register_allocator(OrtEnv*, OrtAllocator* allocator) {
  const OrtMemoryInfo* const info = allocator->Info(allocator);
  if (info->is_gpu) fake().gpu_allocators[info->id] = allocator;
  if (info->is_pinned) fake().pinned_allocators[info->id] = allocator;
  return nullptr;
}

OrtStatus* give(TensorPtr tensor, OrtValue** out) {
  *out = new OrtValue;
  (*out)->tensor = std::move(tensor);
  return nullptr;
}

TensorPtr tensor_over(void* data, std::size_t bytes, const std::int64_t* shape, std::size_t rank,
                      int type) {
  auto tensor = std::make_shared<Tensor>();
  tensor->shape.assign(shape, shape + rank);
  tensor->data = data;
  tensor->bytes = bytes;
  tensor->type = type;
  return tensor;
}

OrtStatus* make_tensor_over(const OrtMemoryInfo* info, void* data, std::size_t bytes,
                            const std::int64_t* shape, std::size_t rank, int type, OrtValue** out) {
  TensorPtr tensor = tensor_over(data, bytes, shape, rank, type);
  tensor->is_gpu = info->is_gpu;
  return give(std::move(tensor), out);
}

OrtStatus* make_tensor_with_deleter(OrtAllocator* deleter, void* data, std::size_t bytes,
                                    const std::int64_t* shape, std::size_t rank, int type,
                                    OrtValue** out) {
  TensorPtr tensor = tensor_over(data, bytes, shape, rank, type);
  tensor->owns = true;
  tensor->free = [deleter, data] { deleter->Free(deleter, data); };
  return give(std::move(tensor), out);
}

OrtStatus* make_tensor(OrtAllocator*, const std::int64_t* shape, std::size_t rank, int type,
                       OrtValue** out) {
  std::size_t bytes = sizeof(std::int64_t);
  for (std::size_t i = 0; i < rank; ++i) bytes *= static_cast<std::size_t>(shape[i]);
  void* const data = std::malloc(std::max<std::size_t>(bytes, 1));
  TensorPtr tensor = tensor_over(data, bytes, shape, rank, type);
  tensor->free = [data] { std::free(data); };
  return give(std::move(tensor), out);
}

OrtStatus* tensor_data(OrtValue* value, void** out) {
  *out = value->tensor->data;
  return nullptr;
}

OrtStatus* tensor_bytes(const OrtValue* value, std::size_t* out) {
  *out = value->tensor->bytes;
  return nullptr;
}

OrtStatus* type_and_shape(const OrtValue* value, OrtTensorTypeAndShapeInfo** out) {
  *out = new OrtTensorTypeAndShapeInfo;
  (*out)->shape = value->tensor->shape;
  return nullptr;
}

OrtStatus* value_type(const OrtValue*, int* out) {
  *out = engine::ort::kTensor;
  return nullptr;
}

OrtStatus* type_kind(const OrtTypeInfo*, int* out) {
  *out = engine::ort::kTensor;
  return nullptr;
}

OrtStatus* as_tensor(const OrtTypeInfo* info, const OrtTensorTypeAndShapeInfo** out) {
  *out = &info->tensor;
  return nullptr;
}

OrtStatus* element_type(const OrtTensorTypeAndShapeInfo*, int* out) {
  *out = int64_type;
  return nullptr;
}

OrtStatus* rank_of(const OrtTensorTypeAndShapeInfo* info, std::size_t* out) {
  *out = info->shape.size();
  return nullptr;
}

OrtStatus* extents(const OrtTensorTypeAndShapeInfo* info, std::int64_t* out, std::size_t rank) {
  std::copy_n(info->shape.begin(), rank, out);
  return nullptr;
}

OrtStatus* symbols(const OrtTensorTypeAndShapeInfo*, const char** out, std::size_t rank) {
  std::fill_n(out, rank, "");
  return nullptr;
}

bool has_shape(const OrtTensorTypeAndShapeInfo*) { return true; }

// --- bindings ---

OrtStatus* make_binding(OrtSession* session, OrtIoBinding** out) {
  *out = new OrtIoBinding;
  (*out)->session = session;
  return nullptr;
}

OrtStatus* bind_input(OrtIoBinding* binding, const char* name, const OrtValue* value) {
  binding->inputs[name] = value->tensor;
  return nullptr;
}

OrtStatus* bind(OrtIoBinding* binding, const char* name, TensorPtr tensor) {
  const auto bound = std::ranges::find(binding->outputs, name, &OrtIoBinding::Output::name);
  if (bound != binding->outputs.end())
    bound->tensor = std::move(tensor);
  else
    binding->outputs.push_back({name, std::move(tensor)});
  return nullptr;
}

OrtStatus* bind_output(OrtIoBinding* binding, const char* name, const OrtValue* value) {
  if (!value->tensor->is_gpu) violation("an output that is not on the GPU");
  return bind(binding, name, value->tensor);
}

OrtStatus* bind_output_to_device(OrtIoBinding* binding, const char* name,
                                 const OrtMemoryInfo* info) {
  if (!info->is_gpu) violation("an output that is not on the GPU");
  return bind(binding, name, nullptr);
}

OrtStatus* bound_values(const OrtIoBinding* binding, OrtAllocator* allocator, OrtValue*** out,
                        std::size_t* size) {
  *size = binding->outputs.size();
  *out = static_cast<OrtValue**>(allocator->Alloc(allocator, *size * sizeof(OrtValue*)));
  for (std::size_t i = 0; i < *size; ++i) give(binding->outputs[i].tensor, &(*out)[i]);
  return nullptr;
}

void clear_inputs(OrtIoBinding* binding) { binding->inputs.clear(); }
void clear_outputs(OrtIoBinding* binding) { binding->outputs.clear(); }

const char* error_text(const OrtStatus* status) { return status->text.c_str(); }

// --- the table ---

constexpr std::size_t slots = 441;
std::array<const void*, slots> table;

template <typename Function>
void put(std::size_t slot, Function* function) {
  table[slot] = reinterpret_cast<const void*>(function);
}

void fill_table() {
  table.fill(reinterpret_cast<const void*>(&unexpected));
  put(1, +[](const OrtStatus*) { return 1; });
  put(2, error_text);
  put(93, release<OrtStatus>);
  put(119, +[](int, const char*, const OrtThreadingOptions*, OrtEnv** out) { return make(out); });
  put(121, make<OrtThreadingOptions>);
  put(122, release<OrtThreadingOptions>);
  for (const std::size_t slot : {147, 148, 149}) put(slot, ignore<OrtThreadingOptions, int>);
  for (const std::size_t slot : {199, 201}) put(slot, ignore<OrtThreadingOptions, void*>);
  put(68, make_memory_info);
  put(69, make_cpu_memory_info);
  put(94, release<OrtMemoryInfo>);
  put(78, get_allocator);
  put(76, free_host);
  put(131, session_allocator);
  put(176, register_allocator);
  put(10, make<OrtSessionOptions>);
  put(11, ignore<OrtSessionOptions, const char*>);
  put(23, ignore<OrtSessionOptions, int>);
  put(24, ignore<OrtSessionOptions, int>);
  put(120, ignore<OrtSessionOptions>);
  put(130, add_entry);
  put(150, add_initializer);
  put(100, release<OrtSessionOptions>);
  put(205, make_cuda_options);
  put(206, update_cuda_options);
  put(263, set_cuda_pointer);
  put(204, append_cuda);
  put(208, release<OrtCUDAProviderOptionsV2>);
  put(171, make_tensorrt_options);
  put(172, update_tensorrt_options);
  put(261, set_tensorrt_pointer);
  put(170, append_tensorrt);
  put(174, release<OrtTensorRTProviderOptionsV2>);
  put(7, create_session);
  put(8, create_session_from_array);
  put(95, release_session);
  put(30, port_count<&Model::inputs>);
  put(31, port_count<&Model::outputs>);
  put(33, port_type<&Model::inputs>);
  put(34, port_type<&Model::outputs>);
  put(36, port_name<&Model::inputs>);
  put(37, port_name<&Model::outputs>);
  put(32, no_ports);
  put(39, make<OrtRunOptions>);
  put(165, add_run_entry);
  put(97, release<OrtRunOptions>);
  put(56, type_kind);
  put(55, as_tensor);
  put(98, release<OrtTypeInfo>);
  put(60, element_type);
  put(61, rank_of);
  put(62, extents);
  put(63, symbols);
  put(390, has_shape);
  put(99, release<OrtTensorTypeAndShapeInfo>);
  put(48, make_tensor);
  put(49, make_tensor_over);
  put(292, make_tensor_with_deleter);
  put(51, tensor_data);
  put(65, type_and_shape);
  put(318, tensor_bytes);
  put(67, value_type);
  put(96, release<OrtValue>);
  put(133, run_with_binding);
  put(134, make_binding);
  put(135, release<OrtIoBinding>);
  put(136, bind_input);
  put(137, bind_output);
  put(138, bind_output_to_device);
  put(140, bound_values);
  put(141, clear_inputs);
  put(142, clear_outputs);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const engine::ort::ApiBase* OrtGetApiBase() {
  static const engine::ort::ApiBase base{
      [](std::uint32_t) -> engine::ort::Table { return table.data(); }, [] { return "0.0-fake"; }};
  fill_table();
  return &base;
}

EXPORT void fakeOrtReset() {
  const Lock lock(fake().mutex);
  fake().counts = {};  // sessions of lost devices are kept for good: not counted any more
  fake().has_cuda = fake().has_tensorrt = true;
}

EXPORT std::size_t fakeOrtViolations(char* text, std::size_t bytes) {
  const Lock lock(fake().mutex);
  std::string all;
  for (const std::string& what : fake().counts.broken) all += what + "; ";
  if (bytes > 0) {
    const std::size_t size = std::min(all.size(), bytes - 1);
    all.copy(text, size);
    text[size] = '\0';
  }
  return fake().counts.broken_count;
}

EXPORT std::size_t fakeOrtCount(const char* what) {
  const Lock lock(fake().mutex);
  return std::string(what) == "objects" ? fake().objects : fake().counts.of[what];
}

EXPORT void fakeOrtHasTensorRt(bool has) {
  const Lock lock(fake().mutex);
  fake().has_tensorrt = has;
}

EXPORT void fakeOrtHasCuda(bool has) {
  const Lock lock(fake().mutex);
  fake().has_cuda = has;
}
