#include "ort/arena.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <mutex>
#include <new>
#include <string_view>

#include "memory/account.hpp"
#include "memory/large_blocks.hpp"
#include "memory/recent_blocks.hpp"
#include "memory/refused.hpp"
#include "ort/runtime.hpp"

namespace engine::ort {
namespace {

// The arena's own grain and alignment: 256 bytes. A block begins with a header of one cache line.
constexpr std::size_t kUnit = 256;
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kClasses = 16;  // 1, 2, 3, 4, 6, 8, 12 ... 256 units: 256 B to 64 KiB
constexpr std::size_t kCachedBytesPerClass = std::size_t{256} << 10;

constexpr int kFloatTensor = 1;  // ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
constexpr const char* kShrink = "memory.enable_memory_arena_shrinkage";

constexpr std::size_t class_of(std::size_t bytes) {
  const std::size_t units = (bytes + kUnit - 1) / kUnit;
  if (units <= 2) return units - 1;
  const auto power = static_cast<std::size_t>(std::bit_width(units - 1));  // units <= 2^power
  return units <= (std::size_t{3} << (power - 2)) ? 2 * power - 2 : 2 * power - 1;
}

constexpr std::size_t class_bytes(std::size_t index) {
  if (index == 0) return kUnit;
  return kUnit *
         (index % 2 == 1 ? std::size_t{1} << ((index + 1) / 2) : std::size_t{3} << (index / 2 - 1));
}

static_assert(class_of(1) == 0 && class_of(257) == 1 && class_of(513) == 2 && class_of(769) == 3);
static_assert(class_of(1025) == 4 && class_bytes(4) == 6 * kUnit && class_bytes(5) == 8 * kUnit);
static_assert(class_of(class_bytes(15)) == 15 && class_of(class_bytes(15) + 1) == kClasses);

/// What a free block holds where its user's bytes were.
struct FreeBlock {
  FreeBlock* next;
};

struct Header {
  std::size_t size_class;  // kClasses: not cached
  std::size_t bytes = 0;   // of the whole block, where it is not cached: what the account lent
};

void* user_bytes(void* block, std::size_t size_class, std::size_t bytes = 0) {
  *static_cast<Header*>(block) = {size_class, bytes};
  return static_cast<std::byte*>(block) + kHeaderBytes;
}

Header* header_of(void* bytes) {
  return reinterpret_cast<Header*>(static_cast<std::byte*>(bytes) - kHeaderBytes);
}

/// ONNX Runtime's arena behind the caches, and the session that it belongs to; set once, before any
/// other session exists.
OrtAllocator* arena = nullptr;
OrtSession* arena_session = nullptr;

LargeBlocks& large_blocks() {
  static LargeBlocks* const blocks = new LargeBlocks(MemoryAccount::process());  // as the arena
  return *blocks;
}

/// Free blocks of one thread, for its own use; what is too much goes back to the arena.
class ThreadCache {
 public:
  ThreadCache() = default;
  ThreadCache(const ThreadCache&) = delete;
  ThreadCache& operator=(const ThreadCache&) = delete;
  ~ThreadCache() {
    for (List& list : lists_)
      while (void* bytes = pop(list)) arena->Free(arena, header_of(bytes));
  }

  void* take(std::size_t size_class) noexcept { return pop(lists_[size_class]); }

  /// False: the list is full.
  bool put(void* bytes, std::size_t size_class) noexcept {
    List& list = lists_[size_class];
    if (list.count * class_bytes(size_class) >= kCachedBytesPerClass) return false;
    list.first = new (bytes) FreeBlock{list.first};
    ++list.count;
    return true;
  }

 private:
  struct List {
    FreeBlock* first = nullptr;
    std::size_t count = 0;
  };

  static void* pop(List& list) noexcept {
    FreeBlock* block = list.first;
    if (block == nullptr) return nullptr;
    list.first = block->next;
    --list.count;
    return block;
  }

  std::array<List, kClasses> lists_;
};

ThreadCache& cache() {
  thread_local ThreadCache cache;
  return cache;
}

/// What is above all classes, within the account. Throws through the kernel that asks, as ONNX
/// Runtime's own arena does where there is no memory.
void* allocate_counted(std::size_t bytes) {
  if (bytes >= LargeBlocks::kLeastBytes)
    return user_bytes(large_blocks().allocate(bytes), kClasses, bytes);
  MemoryShare share;
  if (!RecentBlocks::process().try_take(share, bytes)) {
    static_cast<void>(large_blocks().give_back());
    if (!share.try_take(bytes)) throw MemoryRefused(bytes);
  }
  void* block = arena->Alloc(arena, bytes);
  if (block == nullptr) return nullptr;
  static_cast<void>(share.lend());
  return user_bytes(block, kClasses, bytes);
}

void free_counted(Header* header) noexcept {
  const std::size_t bytes = header->bytes;
  if (bytes >= LargeBlocks::kLeastBytes) return large_blocks().release(header, bytes);
  arena->Free(arena, header);
  MemoryAccount::process().give(bytes);
}

void* allocate(OrtAllocator* /*self*/, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > SIZE_MAX - kHeaderBytes) throw MemoryRefused(bytes);
  const std::size_t size_class = class_of(bytes + kHeaderBytes);
  if (size_class >= kClasses) return allocate_counted(bytes + kHeaderBytes);
  if (void* cached = cache().take(size_class)) return cached;
  void* block = arena->Alloc(arena, class_bytes(size_class));
  return block == nullptr ? nullptr : user_bytes(block, size_class);
}

void release(OrtAllocator* /*self*/, void* bytes) {
  if (bytes == nullptr) return;
  Header* header = header_of(bytes);
  if (header->size_class >= kClasses) return free_counted(header);
  if (!cache().put(bytes, header->size_class)) arena->Free(arena, header);
}

/// For what lives as long as a session; the arena keeps it apart from the rest.
void* reserve(OrtAllocator* /*self*/, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* block = arena->Reserve(arena, bytes + kHeaderBytes);
  return block == nullptr ? nullptr : user_bytes(block, kClasses);
}

const OrtMemoryInfo* memory_info = nullptr;

const OrtMemoryInfo* info(const OrtAllocator* /*self*/) { return memory_info; }

/// y = Identity(x) for one float: the smallest model. Only a session gives out an arena.
constexpr std::string_view kTinyModel(
    "\x08\x08"                                           // ir_version 8
    "\x3a\x2f"                                           // graph of 47 bytes
    "\x0a\x10\x0a\x01x\x12\x01y\x22\x08Identity"         // node
    "\x12\x01g"                                          // name
    "\x5a\x0b\x0a\x01x\x12\x06\x0a\x04\x08\x01\x12\x00"  // input: a float scalar
    "\x62\x0b\x0a\x01y\x12\x06\x0a\x04\x08\x01\x12\x00"  // output
    "\x42\x02\x10\x0d",                                  // opset 13
    55);

/// Answers a query of the arena's own session, which has the arena give regions back that are free.
void run_shrinking(const Api& api) {
  OrtMemoryInfo* memory = nullptr;
  check_with(api, api.create_cpu_memory_info(kDeviceAllocator, kMemTypeDefault, &memory));
  float number = 0;
  OrtValue* input = nullptr;
  OrtStatus* status =
      api.create_tensor_over(memory, &number, sizeof number, nullptr, 0, kFloatTensor, &input);
  api.release_memory_info(memory);
  check_with(api, status);
  OrtRunOptions* options = nullptr;
  OrtValue* output = nullptr;
  status = api.create_run_options(&options);
  if (!status) status = api.add_run_config_entry(options, kShrink, "cpu:0");
  const char* const names[] = {"x", "y"};
  if (!status)
    status = api.run(arena_session, options, &names[0], &input, 1, &names[1], 1, &output);
  api.release_value(output);
  api.release_value(input);
  api.release_run_options(options);
  check_with(api, status);
}

/// The allocator of a session that lives as long as the process.
OrtAllocator* make_arena(const Api& api, const OrtEnv* env, const OrtMemoryInfo* memory) {
  OrtSessionOptions* options = nullptr;
  check_with(api, api.create_session_options(&options));
  check_with(api, api.set_intra_op_threads(options, 1));
  OrtSession* session = nullptr;
  OrtStatus* status =
      api.create_session_from_array(env, kTinyModel.data(), kTinyModel.size(), options, &session);
  api.release_session_options(options);
  check_with(api, status);
  OrtAllocator* made = nullptr;
  check_with(api, api.create_allocator(session, memory, &made));
  arena_session = session;
  return made;
}

}  // namespace

void register_arena(const Api& api, OrtEnv* env) {
  OrtMemoryInfo* inside = nullptr;
  check_with(api, api.create_cpu_memory_info(kArenaAllocator, kMemTypeDefault, &inside));
  arena = make_arena(api, env, inside);
  OrtMemoryInfo* outside = nullptr;  // "device": what is registered from outside may not say arena
  check_with(api, api.create_cpu_memory_info(kDeviceAllocator, kMemTypeDefault, &outside));
  memory_info = outside;
  static OrtAllocator registered{OrtAllocator::kVersion, allocate, release, info, reserve};
  check_with(api, api.register_allocator(env, &registered));
}

void give_back_free_memory(const Api& api) {
  static_cast<void>(large_blocks().give_back());
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  run_shrinking(api);
}

}  // namespace engine::ort
