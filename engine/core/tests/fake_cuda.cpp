// A CUDA runtime without a GPU that checks how it is used. A shared library of the tests.
//
// Streams execute nothing by themselves: whenever the host asks for an event, a random number of
// operations that CUDA would allow to run next are executed. So a missing wait shows in the
// results, whatever a real GPU's timing would hide; and vector clocks find it even where the order
// happened to be right. Clocks: one component a stream. An operation ticks its stream's own;
// waiting for an event joins the event's; an event that the host has seen complete is joined by all
// later submissions. An access to memory must come after every earlier one that conflicts with it.
#include "fake_cuda.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t max_streams = 40;
constexpr std::size_t null_checked = 4096;  ///< bytes of a copy whose source must not change
constexpr int max_gpus = 4;

/// What cudaSetDevice said last. What is made belongs to it.
thread_local int current_gpu = 0;

/// By stream.
using Clock = std::array<std::uint64_t, max_streams>;

void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < max_streams; ++i) clock[i] = std::max(clock[i], other[i]);
}

struct Event {
  std::uint64_t recorded = 0, completed = 0;
  Clock clock{};
  int gpu = current_gpu;
};
using EventPtr = std::shared_ptr<Event>;

struct Operation {
  enum Kind { work, record, wait } kind = work;
  std::function<void()> run;
  EventPtr event;
  std::uint64_t ticket = 0;
};

/// What one operation does to memory.
struct Access {
  void* begin;
  std::size_t bytes;
  bool writes;
  const char* what;
};

/// Work that was captured, and its accesses.
struct CapturedWork {
  std::vector<Access> accesses;
  std::function<void()> run;
};

struct Graph {
  std::vector<CapturedWork> works;
  struct Stream* stream = nullptr;
  int gpu = current_gpu;
};

struct Executable {
  Graph graph;
  std::thread::id thread;
  Clock last{};  ///< of its last launch
};

/// Some SMs of the GPU: a resource, and what is made of it.
struct Sms {
  unsigned first = 0, count = 0;
};

/// CUdevResource: a type, padding, and for SMs their number; where they are is the driver's own.
struct Resource {
  int type;
  unsigned char padding[92];
  unsigned count, first;
  unsigned char rest[40];
};

struct GreenContext {
  Sms sms;
  int gpu = 0;
};

struct Stream {
  std::size_t id = 0;
  int gpu = current_gpu;
  GreenContext* context = nullptr;
  Clock clock{};
  std::deque<Operation> queue;
  std::unique_ptr<Graph> capture;  ///< while it captures
  int capture_mode = 0;
  std::thread::id capturer = {};
  bool broken = false;  ///< the capture can only fail
  std::thread::id creator = std::this_thread::get_id();
  std::thread::id submitter = {};  ///< of work behind which no event is recorded yet
};

/// The last accesses to a range of memory, by stream.
struct Range {
  std::uintptr_t end = 0;
  Clock reads{}, writes{};
};

struct Freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// cudaIpcMemHandle_t
struct IpcHandle {
  char reserved[64];
};

struct Allocation {
  std::unique_ptr<std::byte, Freed> memory;
  std::size_t bytes = 0;
  bool pinned = false;
  std::thread::id owner = std::this_thread::get_id();
  int gpu = current_gpu;
};

constexpr int fatal_codes[] = {3, 4, 46, 100, 214, 700, 702, 716, 719};

/// As many as the fake driver has (tests/fakes).
int gpus_at_first() {
  const char* const text = std::getenv("FAKE_GPUS");
  return text == nullptr ? 1 : std::clamp(std::atoi(text), 1, max_gpus);
}

struct Fake {
  std::recursive_mutex mutex;
  std::mt19937_64 random{1};
  std::map<Stream*, std::unique_ptr<Stream>> streams;
  std::map<Event*, EventPtr> events;
  std::map<Sms*, std::unique_ptr<Sms>> descriptions;
  std::map<GreenContext*, std::unique_ptr<GreenContext>> contexts;
  std::map<unsigned, std::size_t> launches;  ///< kernels by the SMs of their partition
  std::map<Graph*, std::unique_ptr<Graph>> graphs;
  std::map<Executable*, std::unique_ptr<Executable>> executables;
  std::map<std::uintptr_t, Allocation> allocations;
  std::map<void*, std::size_t> ipc;  ///< how often memory of other processes is open
  std::map<std::uintptr_t, Range> ranges;
  std::vector<Stream*> in_order;  ///< by id
  Clock host{};
  bool sealed = false;
  std::vector<std::string> broken;
  std::size_t broken_count = 0;
  std::map<std::string, std::pair<int, int>> injected;  // function: calls left, code
  int gpus = gpus_at_first();
  std::array<int, max_gpus> fatal{};
  std::array<std::size_t, max_gpus> device_bytes{};
  std::size_t limit_bytes = 0;  ///< of each
  bool has_peers = true;        ///< whether GPUs can read each other's memory
  std::set<std::pair<int, int>> reaching;
  std::array<std::size_t, 2> peer_copies{};  ///< through the host, directly
  std::string ignored;
  std::map<std::string, std::function<void()>> during;
  bool computes_nothing = false;
  std::array<std::unique_ptr<Stream>, max_gpus> null_streams;
};

Fake* fake() {
  static Fake* instance = new Fake;
  return instance;
}

using Lock = std::lock_guard<std::recursive_mutex>;

void violation(const std::string& what) {
  Fake& f = *fake();
  ++f.broken_count;
  if (f.broken.size() < 8) {
    const auto thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
    f.broken.push_back(what + " (thread " + std::to_string(thread % 100'000) + ")");
  }
}

std::string hex(std::uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

bool is_fatal(int code) {
  return std::find(std::begin(fatal_codes), std::end(fatal_codes), code) != std::end(fatal_codes);
}

/// Why nothing of a GPU works any more, or 0.
int fatal_of(int gpu) { return fake()->fatal[static_cast<std::size_t>(gpu)]; }

/// What its streams were about to do never happens.
void lose(int gpu, int code) {
  Fake& f = *fake();
  f.fatal[static_cast<std::size_t>(gpu)] = code;
  for (const Stream* stream : f.in_order)
    for (auto& [begin, range] : f.ranges)
      if (stream->gpu == gpu) range.reads[stream->id] = range.writes[stream->id] = 0;
}

/// What the call must return instead of working, or 0.
int trouble(const char* function, int gpu = current_gpu) {
  Fake& f = *fake();
  if (const int code = fatal_of(gpu); code != 0) return code;
  const auto found = f.injected.find(function);
  if (found == f.injected.end() || --found->second.first > 0) return 0;
  const int code = found->second.second;
  f.injected.erase(found);
  if (is_fatal(code)) lose(gpu, code);
  return code;
}

/// What others do while a call takes its time. Not under the lock.
void meanwhile(const char* function) {
  std::function<void()> action;
  {
    const Lock lock(fake()->mutex);
    if (fake()->during.empty()) return;
    action = fake()->during[function];
  }
  if (action) action();
}

thread_local int last_error = 0;

/// What a call returns, kept as CUDA keeps it for cudaGetLastError.
int said(int code) {
  if (code != 0) last_error = code;
  return code;
}

void forbid_when_sealed(const char* function) {
  if (fake()->sealed) violation(std::string(function) + " after warm-up");
}

enum CaptureMode { global, thread_local_only, relaxed };

/// What cudaThreadExchangeStreamCaptureMode said last.
thread_local int mode_of_thread = global;

/// Whether a capture forbids the calling thread what may be unsafe during one.
bool forbids_unsafe(const Stream& capturing) {
  if (capturing.capturer == std::this_thread::get_id())
    return mode_of_thread != relaxed && capturing.capture_mode != relaxed;
  return mode_of_thread == global && capturing.capture_mode == global;
}

/// Ends the captures of which `forbids` holds, and returns what the call must return.
template <typename Forbids>
int end_captures(Forbids&& forbids) {
  bool any = false;
  for (Stream* stream : fake()->in_order)
    if (stream->capture && forbids(*stream)) any = stream->broken = true;
  return any ? 900 : 0;
}

/// Whether the calling thread is in a host function of a stream, which may not call CUDA.
thread_local bool in_host_function = false;

int forbid_in_host_function(const char* function) {
  if (!in_host_function) return 0;
  violation(std::string(function) + " in a host function");
  return 800;
}

/// What may be unsafe: forbidden by captures of the own thread, and by global ones of any.
int forbid_when_capturing(const char* function) {
  const int code = end_captures(forbids_unsafe);
  if (code != 0) violation(std::string(function) + " during a capture");
  return code;
}

/// What asks for all streams of the device: forbidden by any capture, whatever its mode.
int forbid_device_wide(const char* function) {
  const int code = end_captures([](const Stream&) { return true; });
  if (code != 0) violation(std::string(function) + " during a capture");
  return code;
}

/// That of the current GPU. Only null: those who use it otherwise wait for streams that they do not
/// know.
Stream* null_stream() {
  Fake& f = *fake();
  const auto gpu = static_cast<std::size_t>(current_gpu);
  std::unique_ptr<Stream>& found = f.null_streams[gpu];
  if (found == nullptr) {
    found = std::make_unique<Stream>();
    found->id = max_streams - 1 - gpu;
    f.in_order.push_back(found.get());
  }
  return found.get();
}

Stream* find_stream(void* handle, const char* function) {
  Fake& f = *fake();
  if (handle == nullptr && f.computes_nothing) return null_stream();
  const auto found = f.streams.find(static_cast<Stream*>(handle));
  if (found != f.streams.end()) return found->second.get();
  violation(std::string(function) + (handle == nullptr ? " on the NULL stream" : " on no stream"));
  return nullptr;
}

enum class Submits { work, wait, event };

/// A stream that the calling thread submits to. What one thread has begun there no other one
/// continues: an event ends it first, whoever records that.
Stream* submit_to(void* handle, const char* function, Submits what = Submits::work) {
  Stream* const found = find_stream(handle, function);
  if (found == nullptr || handle == nullptr) return found;
  const auto caller = std::this_thread::get_id();
  const bool is_free = found->submitter == std::thread::id{} || found->submitter == caller;
  if (what == Submits::event)
    found->submitter = {};
  else if (!is_free)
    violation(std::string(function) + " from a second thread");
  else if (what == Submits::work)
    found->submitter = caller;
  if (found->gpu != current_gpu)
    violation(std::string(function) + " to a stream of another GPU than the current one");
  return found;
}

/// The allocation that holds [begin, begin + bytes), or null.
const Allocation* find_allocation(const void* begin, std::size_t bytes) {
  auto& allocations = fake()->allocations;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return nullptr;
  --next;
  const bool inside = address + bytes <= next->first + next->second.bytes;
  return inside ? &next->second : nullptr;
}

bool comes_after(const Clock& clock, const Clock& accesses) {
  for (std::size_t i = 0; i < max_streams; ++i)
    if (clock[i] < accesses[i]) return false;
  return true;
}

/// Cuts the ranges at `address`.
void cut(std::uintptr_t address) {
  auto& ranges = fake()->ranges;
  auto next = ranges.upper_bound(address);
  if (next == ranges.begin()) return;
  --next;
  if (next->first == address || next->second.end <= address) return;
  Range right = next->second;
  next->second.end = address;
  ranges[address] = std::move(right);
}

void access(Stream& stream, void* begin, std::size_t bytes, bool writes, const char* what) {
  if (bytes == 0) return;
  auto& ranges = fake()->ranges;
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t to = from + bytes;
  cut(from);
  cut(to);
  std::uintptr_t at = from;
  while (at < to) {
    auto range = ranges.lower_bound(at);
    if (range == ranges.end() || range->first != at) {
      const std::uintptr_t end = range == ranges.end() ? to : std::min(to, range->first);
      range = ranges.emplace(at, Range{.end = end}).first;
    }
    Range& r = range->second;
    const bool ordered =
        comes_after(stream.clock, r.writes) && (!writes || comes_after(stream.clock, r.reads));
    if (!ordered)
      violation(std::string(what) + (writes ? " writes " : " reads ") + hex(at) + "+" +
                std::to_string(r.end - at) + " on stream " + std::to_string(stream.id) +
                ", not after its last use on another");
    if (!writes) r.reads[stream.id] = stream.clock[stream.id];
    at = r.end;
  }
  if (!writes) return;
  ranges.erase(ranges.lower_bound(from), ranges.lower_bound(to));
  Range written{.end = to};
  written.writes[stream.id] = stream.clock[stream.id];
  ranges.emplace(from, written);
}

/// Before each submission: what the host knows, the stream comes after.
void tick(Stream& stream) {
  join(stream.clock, fake()->host);
  ++stream.clock[stream.id];
}

bool can_run(const Operation& operation) {
  return operation.kind != Operation::wait || operation.event->completed >= operation.ticket;
}

void run_first(Stream& stream) {
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (const int code = trouble("execute", stream.gpu); code != 0) lose(stream.gpu, code);
  if (fatal_of(stream.gpu) != 0) return;
  if (operation.kind == Operation::work) operation.run();
  if (operation.kind == Operation::record) operation.event->completed = operation.ticket;
}

/// Executes up to `count` operations, of streams chosen at random.
void advance(std::size_t count) {
  Fake& f = *fake();
  for (; count > 0; --count) {
    std::array<Stream*, max_streams> able{};
    std::size_t size = 0;
    for (Stream* stream : f.in_order)
      if (fatal_of(stream->gpu) == 0 && !stream->queue.empty() && can_run(stream->queue.front()))
        able[size++] = stream;
    if (size == 0) return;
    run_first(*able[f.random() % size]);
  }
}

/// Submits work to a stream, or to the graph that it captures.
void submit(Stream& stream, CapturedWork work) {
  if (stream.capture) {
    stream.capture->works.push_back(std::move(work));
    return;
  }
  tick(stream);
  for (const Access& a : work.accesses) access(stream, a.begin, a.bytes, a.writes, a.what);
  stream.queue.push_back({Operation::work, std::move(work.run), nullptr, 0});
}

/// Memory of a graph is its own as long as it can be launched: others may copy, or read what the
/// graph only reads, too.
void check_graphs(const void* begin, std::size_t bytes, bool writes) {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  for (const auto& [handle, executable] : fake()->executables)
    for (const CapturedWork& work : executable->graph.works)
      for (const Access& a : work.accesses) {
        const auto at = reinterpret_cast<std::uintptr_t>(a.begin);
        if ((writes || a.writes) && at < from + bytes && from < at + a.bytes) {
          violation("a kernel uses " + hex(from) + ", which belongs to a graph");
          return;
        }
      }
}

std::uint64_t checksum(const void* data, std::size_t bytes) {
  std::uint64_t sum = 1469598103934665603ULL;
  const auto* byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) sum = (sum ^ byte[i]) * 1099511628211ULL;
  return sum;
}

void forget_ranges(std::uintptr_t from, std::uintptr_t to) {
  auto& ranges = fake()->ranges;
  cut(from);
  cut(to);
  ranges.erase(ranges.lower_bound(from), ranges.lower_bound(to));
}

int allocate(void** memory, std::size_t bytes, bool pinned) {
  Fake& f = *fake();
  std::size_t& device_bytes = f.device_bytes[static_cast<std::size_t>(current_gpu)];
  if (!pinned && f.limit_bytes != 0 && device_bytes + bytes > f.limit_bytes) return 2;
  // Not initialised, as CUDA's is not. The null GPU's is touched by nobody, so it takes no time.
  void* const made = f.computes_nothing ? std::calloc(1, bytes) : std::malloc(bytes);
  Allocation allocation{{static_cast<std::byte*>(made), {}}, bytes, pinned};
  *memory = allocation.memory.get();
  if (!pinned) device_bytes += bytes;
  f.allocations.emplace(reinterpret_cast<std::uintptr_t>(*memory), std::move(allocation));
  return 0;
}

int release(void* memory, const char* function) {
  Fake& f = *fake();
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto found = f.allocations.find(address);
  if (found == f.allocations.end()) {
    violation(std::string(function) + " of what was not allocated");
    return 1;
  }
  const std::uintptr_t end = address + found->second.bytes;
  const int gpu = found->second.gpu;
  if (!found->second.pinned && gpu != current_gpu)
    violation(std::string(function) + " of memory of another GPU than the current one");
  for (auto range = f.ranges.lower_bound(address); range != f.ranges.end() && range->first < end;
       ++range)
    if (fatal_of(gpu) == 0 &&
        (!comes_after(f.host, range->second.reads) || !comes_after(f.host, range->second.writes)))
      violation(std::string(function) + " of " + hex(range->first) + " while it is in use");
  forget_ranges(address, end);
  if (!found->second.pinned) f.device_bytes[static_cast<std::size_t>(gpu)] -= found->second.bytes;
  f.allocations.erase(found);
  return 0;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
// Every function takes the one lock, and fails if it is meant to.
#define ENTER(name)                                                \
  const Lock lock(fake()->mutex);                                  \
  if (fake()->ignored == name) return 0;                           \
  if (const int code = forbid_in_host_function(name)) return code; \
  if (const int code = trouble(name); code != 0) return said(code)

EXPORT int cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return 0;
}

EXPORT int cudaGetDeviceCount(int* count) {
  ENTER("cudaGetDeviceCount");
  *count = fake()->gpus;
  return 0;
}

EXPORT int cudaSetDevice(int device) {
  const Lock lock(fake()->mutex);
  if (device < 0 || device >= fake()->gpus) return said(101);
  if (const int code = trouble("cudaSetDevice", device); code != 0) return said(code);
  current_gpu = device;
  return 0;
}

EXPORT int cudaGetDevice(int* device) {
  *device = current_gpu;
  return 0;
}

EXPORT int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  ENTER("cudaDeviceCanAccessPeer");
  if (std::max(device, peer) >= fake()->gpus) return said(101);
  *can = fake()->has_peers && device != peer ? 1 : 0;
  return 0;
}

EXPORT int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  ENTER("cudaDeviceEnablePeerAccess");
  if (!fake()->has_peers || flags != 0) {
    violation("cudaDeviceEnablePeerAccess where there is none");
    return said(217);
  }
  return fake()->reaching.emplace(current_gpu, peer).second ? 0 : said(704);
}

EXPORT int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const Lock lock(fake()->mutex);
  *total = std::size_t{1} << 32;
  *free = *total - std::min(*total, fake()->device_bytes[static_cast<std::size_t>(current_gpu)]);
  return 0;
}

EXPORT const char* cudaGetErrorName(int code) {
  switch (code) {
    case 2:
      return "cudaErrorMemoryAllocation";
    case 46:
      return "cudaErrorDevicesUnavailable";
    case 700:
      return "cudaErrorIllegalAddress";
    case 719:
      return "cudaErrorLaunchFailure";
    case 900:
      return "cudaErrorStreamCaptureUnsupported";
    case 901:
      return "cudaErrorStreamCaptureInvalidated";
    default:
      return "cudaErrorUnknown";
  }
}

namespace {

int create_stream(void** stream, unsigned flags, GreenContext* context) {
  if (flags != 1) violation("a stream that waits for the NULL stream");
  auto made = std::make_unique<Stream>();
  made->context = context;
  if (context != nullptr) made->gpu = context->gpu;
  // Streams of a device come and go all at once, but there may be those of another one.
  std::vector<Stream*>& others = fake()->in_order;
  while (std::ranges::any_of(others, [&](const Stream* s) { return s->id == made->id; }))
    ++made->id;
  if (made->id == max_streams) return 2;
  others.push_back(made.get());
  *stream = made.get();
  Stream* handle = made.get();
  fake()->streams[handle] = std::move(made);
  return 0;
}

constexpr unsigned gpu_sms = 132, sms_at_least = 8;

}  // namespace

EXPORT int cudaStreamCreateWithPriority(void** stream, unsigned flags, int) {
  ENTER("cudaStreamCreateWithPriority");
  return create_stream(stream, flags, nullptr);
}

EXPORT int cudaDeviceGetPCIBusId(char* text, int bytes, int ordinal) {
  ENTER("cudaDeviceGetPCIBusId");
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:FA:CE.%d", ordinal);
  return 0;
}

EXPORT int cuInit(unsigned) {
  ENTER("cuInit");
  return 0;
}

EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < fake()->gpus ? 0 : 101;
}

EXPORT int cuDeviceGetDevResource(int, Resource* resource, int type) {
  ENTER("cuDeviceGetDevResource");
  *resource = {.type = type, .padding = {}, .count = gpu_sms, .first = 0, .rest = {}};
  return 0;
}

EXPORT int cuDevSmResourceSplitByCount(Resource* groups, unsigned* count, const Resource* all,
                                       Resource* rest, unsigned, unsigned least) {
  ENTER("cuDevSmResourceSplitByCount");
  if (all->type != 1) return 1;
  const unsigned size = (std::max(least, 1U) + sms_at_least - 1) / sms_at_least * sms_at_least;
  *rest = *all;
  unsigned made = 0;
  for (; made < *count && rest->count >= size; ++made) {
    groups[made] = *rest;
    groups[made].count = size;
    rest->first += size;
    rest->count -= size;
  }
  *count = made;
  return made == 0 ? 1 : 0;
}

EXPORT int cuDevResourceGenerateDesc(void** description, Resource* resources, unsigned count) {
  ENTER("cuDevResourceGenerateDesc");
  if (count != 1) return 1;
  auto made = std::make_unique<Sms>(Sms{resources->first, resources->count});
  *description = made.get();
  fake()->descriptions[made.get()] = std::move(made);
  return 0;
}

EXPORT int cuGreenCtxCreate(void** context, void* description, int gpu, unsigned flags) {
  ENTER("cuGreenCtxCreate");
  if (flags != 1) return 1;
  const Sms sms = *static_cast<Sms*>(description);
  for (const auto& [handle, other] : fake()->contexts)
    if (gpu == other->gpu && sms.first < other->sms.first + other->sms.count &&
        other->sms.first < sms.first + sms.count)
      violation("green contexts that share SMs");
  auto made = std::make_unique<GreenContext>(GreenContext{sms, gpu});
  *context = made.get();
  fake()->contexts[made.get()] = std::move(made);
  return 0;
}

EXPORT int cuGreenCtxStreamCreate(void** stream, void* context, unsigned flags, int) {
  ENTER("cuGreenCtxStreamCreate");
  return create_stream(stream, flags, static_cast<GreenContext*>(context));
}

EXPORT int cuGreenCtxDestroy(void* context) {
  const Lock lock(fake()->mutex);
  for (const Stream* stream : fake()->in_order)
    if (stream->context == context) violation("cuGreenCtxDestroy before its streams");
  return fake()->contexts.erase(static_cast<GreenContext*>(context)) == 1 ? 0 : 201;
}

EXPORT int cuMemGetAddressRange(unsigned long long* base, std::size_t* bytes,
                                unsigned long long memory) {
  ENTER("cuMemGetAddressRange");
  auto next = fake()->allocations.upper_bound(memory);
  if (next == fake()->allocations.begin()) return 1;
  --next;
  if (memory >= next->first + next->second.bytes) return 1;
  *base = next->first;
  *bytes = next->second.bytes;
  return 0;
}

EXPORT int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long, int*) {
  ENTER("cuGetProcAddress_v2");
  const std::map<std::string, void*> known{
      {"cuInit", reinterpret_cast<void*>(cuInit)},
      {"cuDeviceGet", reinterpret_cast<void*>(cuDeviceGet)},
      {"cuDeviceGetDevResource", reinterpret_cast<void*>(cuDeviceGetDevResource)},
      {"cuDevSmResourceSplitByCount", reinterpret_cast<void*>(cuDevSmResourceSplitByCount)},
      {"cuDevResourceGenerateDesc", reinterpret_cast<void*>(cuDevResourceGenerateDesc)},
      {"cuGreenCtxCreate", reinterpret_cast<void*>(cuGreenCtxCreate)},
      {"cuGreenCtxStreamCreate", reinterpret_cast<void*>(cuGreenCtxStreamCreate)},
      {"cuGreenCtxDestroy", reinterpret_cast<void*>(cuGreenCtxDestroy)},
      {"cuMemGetAddressRange", reinterpret_cast<void*>(cuMemGetAddressRange)},
  };
  const auto found = known.find(name);
  *function = found == known.end() ? nullptr : found->second;
  return found == known.end() ? 500 : 0;
}

EXPORT std::size_t fakeCudaLaunches(unsigned sms) {
  const Lock lock(fake()->mutex);
  return fake()->launches[sms];
}

EXPORT int cudaStreamDestroy(void* stream) {
  const Lock lock(fake()->mutex);
  Stream* found = find_stream(stream, "cudaStreamDestroy");
  if (found == nullptr) return 400;
  if (!found->queue.empty() && fatal_of(found->gpu) == 0)
    violation("cudaStreamDestroy of stream " + std::to_string(found->id) + " with work left");
  for (const auto& [address, allocation] : fake()->allocations)
    if (!allocation.pinned && allocation.owner == std::this_thread::get_id() &&
        fatal_of(found->gpu) == 0) {
      violation("cudaStreamDestroy before memory was freed");
      break;
    }
  std::erase(fake()->in_order, found);
  fake()->streams.erase(found);
  return 0;
}

namespace {

int wait_for(Stream& stream) {
  while (!stream.queue.empty() && fatal_of(stream.gpu) == 0) advance(1);
  join(fake()->host, stream.clock);
  return fatal_of(stream.gpu);
}

}  // namespace

EXPORT int cudaStreamSynchronize(void* stream) {
  ENTER("cudaStreamSynchronize");
  if (const int code = forbid_when_capturing("cudaStreamSynchronize")) return code;
  forbid_when_sealed("cudaStreamSynchronize");
  Stream* found = find_stream(stream, "cudaStreamSynchronize");
  if (found == nullptr) return 400;
  const int code = wait_for(*found);
  found->submitter = {};  // nothing is left of that thread's: another one may go on
  return code;
}

EXPORT int fakeCudaWaitForAll(const char* function) {
  ENTER(function);
  if (const int code = forbid_device_wide(function)) return code;
  forbid_when_sealed(function);
  for (Stream* stream : fake()->in_order)
    if (stream->gpu == current_gpu) wait_for(*stream);
  return fatal_of(current_gpu);
}

EXPORT int cudaStreamQuery(void* stream) {
  ENTER("cudaStreamQuery");
  Stream* found = find_stream(stream, "cudaStreamQuery");
  if (found == nullptr) return 400;
  if (const int code = end_captures(forbids_unsafe)) return said(code);
  return said(found->queue.empty() ? 0 : 600);
}

EXPORT int cudaGetLastError() {
  const Lock lock(fake()->mutex);
  if (const int code = fatal_of(current_gpu); code != 0) return code;
  return std::exchange(last_error, 0);
}

EXPORT int cudaStreamWaitEvent(void* stream, void* event, unsigned) {
  ENTER("cudaStreamWaitEvent");
  Stream* found = submit_to(stream, "cudaStreamWaitEvent", Submits::wait);
  const auto known = fake()->events.find(static_cast<Event*>(event));
  if (found == nullptr || known == fake()->events.end()) return 400;
  if (found->capture) {
    found->broken = true;
    violation("cudaStreamWaitEvent of an event from outside of a capture");
    return 905;
  }
  join(found->clock, known->second->clock);
  found->queue.push_back({Operation::wait, {}, known->second, known->second->recorded});
  return 0;
}

EXPORT int cudaEventCreateWithFlags(void** event, unsigned flags) {
  ENTER("cudaEventCreateWithFlags");
  if (flags != 2) violation("an event with timing");
  auto made = std::make_shared<Event>();
  *event = made.get();
  fake()->events[made.get()] = made;
  return 0;
}

EXPORT int cudaEventRecord(void* event, void* stream) {
  ENTER("cudaEventRecord");
  Stream* found = submit_to(stream, "cudaEventRecord", Submits::event);
  const auto known = fake()->events.find(static_cast<Event*>(event));
  if (found == nullptr || known == fake()->events.end()) return 400;
  if (found->capture) {
    found->broken = true;
    violation("cudaEventRecord during a capture");
    return 900;
  }
  Event& e = *known->second;
  if (e.gpu != found->gpu) {
    violation("cudaEventRecord of another GPU's event");
    return 400;
  }
  if (e.completed < e.recorded) violation("cudaEventRecord of an event that is still awaited");
  tick(*found);
  e.clock = found->clock;
  found->queue.push_back({Operation::record, {}, known->second, ++e.recorded});
  return 0;
}

EXPORT int cudaEventQuery(void* event) {
  meanwhile("cudaEventQuery");
  ENTER("cudaEventQuery");
  if (const int code = forbid_when_capturing("cudaEventQuery")) return code;
  // The null GPU takes no time: what may run has run.
  advance(fake()->computes_nothing ? std::numeric_limits<std::size_t>::max()
                                   : fake()->random() % 4);
  if (const int code = fatal_of(current_gpu); code != 0) return code;
  const auto known = fake()->events.find(static_cast<Event*>(event));
  if (known == fake()->events.end()) return 400;
  if (known->second->completed < known->second->recorded) return said(600);
  join(fake()->host, known->second->clock);
  return 0;
}

EXPORT int cudaEventDestroy(void* event) {
  const Lock lock(fake()->mutex);
  return fake()->events.erase(static_cast<Event*>(event)) == 1 ? 0 : 400;
}

EXPORT int cudaMalloc(void** memory, std::size_t bytes) {
  ENTER("cudaMalloc");
  if (const int code = forbid_when_capturing("cudaMalloc")) return code;
  forbid_when_sealed("cudaMalloc");
  return said(allocate(memory, bytes, false));
}

EXPORT int cudaFree(void* memory) {
  meanwhile("cudaFree");
  const Lock lock(fake()->mutex);
  if (const int code = forbid_in_host_function("cudaFree")) return code;
  forbid_when_sealed("cudaFree");
  if (const int code = forbid_when_capturing("cudaFree")) return code;
  return release(memory, "cudaFree");
}

EXPORT int cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  ENTER("cudaHostAlloc");
  if (const int code = forbid_when_capturing("cudaHostAlloc")) return code;
  forbid_when_sealed("cudaHostAlloc");
  return allocate(memory, bytes, true);
}

EXPORT int cudaFreeHost(void* memory) {
  const Lock lock(fake()->mutex);
  if (const int code = forbid_in_host_function("cudaFreeHost")) return code;
  forbid_when_sealed("cudaFreeHost");
  if (const int code = forbid_when_capturing("cudaFreeHost")) return code;
  return release(memory, "cudaFreeHost");
}

/// A handle is the address: all processes of this fake are one.
EXPORT int cudaIpcGetMemHandle(IpcHandle* handle, void* memory) {
  ENTER("cudaIpcGetMemHandle");
  const Allocation* found = find_allocation(memory, 1);
  if (found == nullptr || found->pinned) return 1;
  *handle = {};
  std::memcpy(handle->reserved, &memory, sizeof memory);
  return 0;
}

EXPORT int cudaIpcOpenMemHandle(void** memory, IpcHandle handle, unsigned flags) {
  ENTER("cudaIpcOpenMemHandle");
  if (const int code = forbid_when_capturing("cudaIpcOpenMemHandle")) return code;
  if (flags != 1) return 1;
  void* opened = nullptr;
  std::memcpy(&opened, handle.reserved, sizeof opened);
  const Allocation* found = find_allocation(opened, 1);
  if (found == nullptr || found->pinned) return 1;
  ++fake()->ipc[opened];
  *memory = opened;
  return 0;
}

EXPORT int cudaIpcCloseMemHandle(void* memory) {
  ENTER("cudaIpcCloseMemHandle");
  const auto found = fake()->ipc.find(memory);
  if (found == fake()->ipc.end()) {
    violation("cudaIpcCloseMemHandle of what is not open");
    return 1;
  }
  if (--found->second == 0) fake()->ipc.erase(found);
  return 0;
}

/// Memory of other processes that is open.
EXPORT std::size_t fakeCudaOpenHandles() {
  const Lock lock(fake()->mutex);
  std::size_t count = 0;
  for (const auto& [memory, times] : fake()->ipc) count += times;
  return count;
}

EXPORT int cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, int kind,
                           void* stream) {
  ENTER("cudaMemcpyAsync");
  Stream* found = submit_to(stream, "cudaMemcpyAsync");
  if (found == nullptr) return 400;
  // Kinds: 1 host to device, 2 device to host, 3 within the device.
  const auto is_in = [&](const void* begin, bool pinned) {
    const Allocation* memory = find_allocation(begin, bytes);
    return memory != nullptr && memory->pinned == pinned && (pinned || memory->gpu == found->gpu);
  };
  if (bytes == 0) return 0;
  const bool pageable = kind != 3 && !is_in(kind == 1 ? source : target, true);
  if (pageable) {
    if (!fake()->computes_nothing) violation("cudaMemcpyAsync of pageable memory");
    forbid_when_sealed("cudaMemcpyAsync of pageable memory");
  }
  if ((kind != 2 && !is_in(target, false)) || (kind != 1 && !is_in(source, false))) {
    violation("cudaMemcpyAsync outside of device memory");
    return 1;
  }
  // Large ones of the null GPU would take the time that is to be the provider's.
  const std::size_t checked = kind != 1                  ? 0
                              : fake()->computes_nothing ? std::min(bytes, null_checked)
                                                         : bytes;
  const std::uint64_t sum = checksum(source, checked);
  submit(
      *found,
      {{{const_cast<void*>(source), bytes, false, "a copy"}, {target, bytes, true, "a copy"}}, [=] {
         if (checksum(source, checked) != sum) violation("pinned memory changed before its copy");
         if (!fake()->computes_nothing)
           std::memcpy(target, source, bytes);
         else if (kind == 2)
           std::memset(target, 0, bytes);
       }});
  // Whoever reads it too early shall notice.
  if (kind == 2 && !fake()->computes_nothing) std::memset(target, 0xdb, bytes);
  return pageable ? wait_for(*found) : 0;
}

EXPORT int cudaMemcpyPeerAsync(void* target, int target_gpu, const void* source, int source_gpu,
                               std::size_t bytes, void* stream) {
  meanwhile("cudaMemcpyPeerAsync");
  ENTER("cudaMemcpyPeerAsync");
  Stream* found = submit_to(stream, "cudaMemcpyPeerAsync");
  if (found == nullptr || std::max(target_gpu, source_gpu) >= fake()->gpus) return said(101);
  if (const int code = fatal_of(source_gpu); code != 0) return said(code);
  if (bytes == 0) return 0;
  const auto is_of = [bytes](const void* begin, int gpu) {
    const Allocation* memory = find_allocation(begin, bytes);
    return memory != nullptr && !memory->pinned && memory->gpu == gpu;
  };
  if (!is_of(target, target_gpu) || !is_of(source, source_gpu)) {
    violation("cudaMemcpyPeerAsync outside of the memory of its GPUs");
    return said(1);
  }
  ++fake()->peer_copies[fake()->reaching.contains({found->gpu, source_gpu}) ? 1 : 0];
  submit(*found, {{{const_cast<void*>(source), bytes, false, "a copy between GPUs"},
                   {target, bytes, true, "a copy between GPUs"}},
                  [=] {
                    if (!fake()->computes_nothing) std::memcpy(target, source, bytes);
                  }});
  return 0;
}

EXPORT int cudaThreadExchangeStreamCaptureMode(int* mode) {
  ENTER("cudaThreadExchangeStreamCaptureMode");
  std::swap(*mode, mode_of_thread);
  return 0;
}

EXPORT int cudaStreamBeginCapture(void* stream, int mode) {
  ENTER("cudaStreamBeginCapture");
  Stream* found = submit_to(stream, "cudaStreamBeginCapture");
  if (found == nullptr || found->capture) return 400;
  // Work of another machine is in memory of its own.
  for (Stream* other : fake()->in_order)
    if (!other->queue.empty() && other != found && other->creator == found->creator)
      violation("a capture beside other work");
  found->capture = std::make_unique<Graph>();
  found->capture->stream = found;
  found->capture_mode = mode;
  found->capturer = std::this_thread::get_id();
  found->broken = false;
  return 0;
}

EXPORT int cudaStreamEndCapture(void* stream, void** graph) {
  meanwhile("cudaStreamEndCapture");
  ENTER("cudaStreamEndCapture");
  Stream* found = find_stream(stream, "cudaStreamEndCapture");
  if (found == nullptr || !found->capture) return 400;
  std::unique_ptr<Graph> made = std::move(found->capture);
  *graph = nullptr;
  if (found->broken) return 901;
  *graph = made.get();
  fake()->graphs[made.get()] = std::move(made);
  return 0;
}

EXPORT int cudaStreamIsCapturing(void* stream, int* status) {
  const Lock lock(fake()->mutex);
  Stream* found = find_stream(stream, "cudaStreamIsCapturing");
  if (found == nullptr) return 400;
  *status = !found->capture ? 0 : found->broken ? 2 : 1;
  return 0;
}

EXPORT int cudaGraphInstantiate(void** executable, void* graph, unsigned long long) {
  ENTER("cudaGraphInstantiate");
  const auto found = fake()->graphs.find(static_cast<Graph*>(graph));
  if (found == fake()->graphs.end()) return 400;
  auto made = std::make_unique<Executable>(*found->second, std::this_thread::get_id());
  *executable = made.get();
  fake()->executables[made.get()] = std::move(made);
  return 0;
}

EXPORT int cudaGraphLaunch(void* executable, void* stream) {
  ENTER("cudaGraphLaunch");
  Stream* found = submit_to(stream, "cudaGraphLaunch");
  const auto known = fake()->executables.find(static_cast<Executable*>(executable));
  if (found == nullptr || known == fake()->executables.end()) return 400;
  Executable& launched = *known->second;
  if (found != launched.graph.stream) violation("a graph on another stream than its own");
  for (const CapturedWork& work : launched.graph.works) {
    for (const Access& a : work.accesses)
      if (find_allocation(a.begin, a.bytes) == nullptr)
        violation("a graph uses memory that was freed");
    submit(*found, work);
  }
  join(launched.last, found->clock);
  return 0;
}

EXPORT int cudaGraphDestroy(void* graph) {
  const Lock lock(fake()->mutex);
  return fake()->graphs.erase(static_cast<Graph*>(graph)) == 1 ? 0 : 400;
}

EXPORT int cudaGraphExecDestroy(void* executable) {
  const Lock lock(fake()->mutex);
  const auto known = fake()->executables.find(static_cast<Executable*>(executable));
  if (known == fake()->executables.end()) return 400;
  if (fatal_of(known->second->graph.gpu) == 0 && !comes_after(fake()->host, known->second->last))
    violation("cudaGraphExecDestroy while it runs");
  fake()->executables.erase(known);
  return 0;
}

EXPORT int fakeCudaLaunch(void* stream, const FakeCudaAccess* accesses, std::size_t count,
                          void (*work)(void*), void* argument) {
  ENTER("launch");
  Stream* found = submit_to(stream, "launch");
  if (found == nullptr) return 400;
  ++fake()->launches[found->context == nullptr ? 0 : found->context->sms.count];
  CapturedWork made{{}, [=] { work(argument); }};
  for (std::size_t i = 0; i < count; ++i) {
    const Allocation* memory = find_allocation(accesses[i].begin, accesses[i].bytes);
    if (memory == nullptr || memory->pinned) violation("a kernel outside of device memory");
    if (memory != nullptr && memory->gpu != found->gpu)
      violation("a kernel in another GPU's memory");
    check_graphs(accesses[i].begin, accesses[i].bytes, accesses[i].writes);
    made.accesses.push_back({accesses[i].begin, accesses[i].bytes, accesses[i].writes, "a kernel"});
  }
  submit(*found, std::move(made));
  return 0;
}

EXPORT int fakeCudaLaunchHost(void* stream, void (*work)(void*), void* argument) {
  ENTER("cudaLaunchHostFunc");
  Stream* found = submit_to(stream, "cudaLaunchHostFunc");
  if (found == nullptr) return 400;
  submit(*found, {{}, [=] {
                    in_host_function = true;
                    work(argument);
                    in_host_function = false;
                  }});
  return 0;
}

/// What a fatal error left: a new context, if nothing of the old one is still used.
EXPORT int cudaDeviceReset() {
  const Lock lock(fake()->mutex);
  Fake& f = *fake();
  const auto is_here = [](const auto& entry) { return entry.second->gpu == current_gpu; };
  const auto is_run_here = [](const auto& entry) { return entry.second->graph.gpu == current_gpu; };
  if (std::ranges::any_of(f.streams, is_here) || std::ranges::any_of(f.events, is_here) ||
      std::ranges::any_of(f.executables, is_run_here))
    violation("cudaDeviceReset with streams, events or graphs left");
  std::erase_if(f.allocations, [](const auto& entry) {
    const bool is_gone = entry.second.gpu == current_gpu;
    if (is_gone) forget_ranges(entry.first, entry.first + entry.second.bytes);
    return is_gone;
  });
  std::erase_if(f.reaching, [](const auto& pair) { return pair.first == current_gpu; });
  f.device_bytes[static_cast<std::size_t>(current_gpu)] = 0;
  f.fatal[static_cast<std::size_t>(current_gpu)] = 0;
  return 0;
}

EXPORT void fakeCudaGpus(int count, bool has_peers) {
  const Lock lock(fake()->mutex);
  fake()->gpus = std::min(count, max_gpus);
  fake()->has_peers = has_peers;
}

EXPORT void fakeCudaLose(int gpu, int code) {
  const Lock lock(fake()->mutex);
  lose(gpu, code);
}

EXPORT std::size_t fakeCudaPeerCopies(bool direct) {
  const Lock lock(fake()->mutex);
  return fake()->peer_copies[direct ? 1 : 0];
}

EXPORT void fakeCudaReset(std::uint64_t seed) {
  const Lock lock(fake()->mutex);
  Fake& f = *fake();
  f.random.seed(seed);
  f.streams.clear();
  f.events.clear();
  f.descriptions.clear();
  f.contexts.clear();
  f.launches.clear();
  f.graphs.clear();
  f.executables.clear();
  f.allocations.clear();
  f.ranges.clear();
  f.in_order.clear();
  for (auto& stream : f.null_streams) stream.reset();
  f.computes_nothing = false;
  f.host = {};
  f.sealed = false;
  f.broken.clear();
  f.broken_count = 0;
  f.injected.clear();
  f.gpus = gpus_at_first();
  f.fatal.fill(0);
  f.device_bytes.fill(0);
  f.limit_bytes = 0;
  f.has_peers = true;
  f.reaching.clear();
  f.peer_copies.fill(0);
  f.ignored.clear();
  f.during.clear();
}

EXPORT void fakeCudaSeal(bool sealed) {
  const Lock lock(fake()->mutex);
  fake()->sealed = sealed;
}

EXPORT void fakeCudaInject(const char* function, int nth, int code) {
  const Lock lock(fake()->mutex);
  fake()->injected[function] = {nth, code};
}

EXPORT std::size_t fakeCudaViolations(char* text, std::size_t bytes) {
  const Lock lock(fake()->mutex);
  std::string all;
  for (const std::string& what : fake()->broken) all += what + "; ";
  if (bytes > 0) {
    const std::size_t size = std::min(all.size(), bytes - 1);
    all.copy(text, size);
    text[size] = '\0';
  }
  return fake()->broken_count;
}

EXPORT void fakeCudaForgive() {
  const Lock lock(fake()->mutex);
  fake()->broken.clear();
  fake()->broken_count = 0;
}

EXPORT std::size_t fakeCudaAlive() {
  const Lock lock(fake()->mutex);
  return fake()->streams.size() + fake()->events.size() + fake()->allocations.size() +
         fake()->contexts.size() + fake()->graphs.size() + fake()->executables.size();
}

EXPORT void fakeCudaMemory(std::size_t bytes) {
  const Lock lock(fake()->mutex);
  fake()->limit_bytes = bytes;
}

EXPORT void fakeCudaIgnore(const char* function) {
  const Lock lock(fake()->mutex);
  fake()->ignored = function;
}

EXPORT void fakeCudaDuring(const char* function, void (*action)(void*), void* argument) {
  const Lock lock(fake()->mutex);
  fake()->during[function] =
      action == nullptr ? std::function<void()>() : [=] { action(argument); };
}

EXPORT void fakeCudaNull(bool computes_nothing) {
  const Lock lock(fake()->mutex);
  fake()->computes_nothing = computes_nothing;
}
