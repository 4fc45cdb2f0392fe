#include "devices/cuda/memory.hpp"

#include <algorithm>

#include "devices/cuda/captures.hpp"
#include "devices/cuda/device_scope.hpp"

namespace engine::cuda {

namespace {

/// Whoever holds the last value may capture, as may any other thread, or use another GPU.
void free_on_any_thread(const Api& api, int device, const Function<void*>& free,
                        void* chunk) noexcept {
  const DeviceScope scope(api, device);
  const CaptureModeScope mode(api);
  free.code(chunk);
}

}  // namespace

DevicePool::DevicePool(ApiPtr api, Streams& streams, const Params& params)
    : api_(std::move(api)),
      device_(current_device(*api_)),
      streams_(streams),
      params_(params),
      pools_(params.pools),
      shared_(params.pools) {
  const std::size_t share = params.reserve_bytes / params.pools;
  for (std::uint32_t pool = 0; share > 0 && pool < params.pools; ++pool) {
    if (!grow(pool, Ranges::rounded(share), 0)) throw exhausted(share);
    reserved_.insert(pools_[pool].first());
  }
}

DevicePool::~DevicePool() { close(); }

Memory DevicePool::allocate(std::uint32_t stream, std::size_t bytes) {
  return {allocate_bare(stream, bytes),
          [pool = shared_from_this()](void* block) { pool->release(block); }};
}

void* DevicePool::allocate_bare(std::uint32_t stream, std::size_t bytes) {
  const std::size_t size = Ranges::rounded(bytes);
  std::byte* block = take(stream, stream, size);
  if (block == nullptr) block = take_grown(stream, size);
  for (std::uint32_t other = 0; block == nullptr && other < pools_.size(); ++other)
    if (other != stream) block = take(other, stream, size);
  if (block == nullptr && trim({})) block = take_grown(stream, size);
  if (block == nullptr) throw exhausted(size);
  return block;
}

/// Another lane may be quicker to take the new chunk.
std::byte* DevicePool::take_grown(std::uint32_t stream, std::size_t bytes) {
  while (grow(stream, bytes, params_.chunk_bytes))
    if (std::byte* const block = take(stream, stream, bytes)) return block;
  return nullptr;
}

std::byte* DevicePool::take(std::uint32_t pool, std::uint32_t stream, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto is_behind = [&](const Uses& uses) {
    for (std::uint32_t other = 0; other < streams_.count(); ++other)
      if (!streams_.is_behind(stream, {other, uses[other]})) return false;
    return true;
  };
  // No event is behind what another lane is launching now.
  const auto may_take = [&](const Uses& uses) {
    for (std::uint32_t other = 0; other < streams_.count(); ++other)
      if (other != stream && !streams_.is_recorded({other, uses[other]})) return false;
    return true;
  };
  const auto taken = pools_[pool].take(bytes, is_behind, may_take);
  if (!taken) return nullptr;
  streams_.wait(stream, taken->second);
  // By the submission at hand, even if nothing else should say so.
  pools_[pool].note_use(taken->first, streams_.next(stream));
  used_bytes_ += bytes;
  return taken->first;
}

/// One more chunk; false if that would pass the limit or the device has no more.
bool DevicePool::grow(std::uint32_t pool, std::size_t bytes, std::size_t chunk_bytes) {
  std::size_t wanted = 0;
  {
    const std::lock_guard lock(mutex_);
    wanted = chunk_within_limit(bytes, chunk_bytes);
    if (wanted < bytes) return false;
    device_bytes_ += wanted;  // ours, before other lanes ask
  }
  void* chunk = nullptr;
  const int code = api_->device_allocate.code(&chunk, wanted);
  const std::lock_guard lock(mutex_);
  if (code != 0) device_bytes_ -= wanted;
  if (code == out_of_memory) return false;
  if (code != 0) throw api_->library().error(code, "cudaMalloc");
  pools_[pool].add_chunk(static_cast<std::byte*>(chunk), wanted);
  return true;
}

/// Under the lock.
std::size_t DevicePool::chunk_within_limit(std::size_t bytes, std::size_t chunk_bytes) const {
  const std::size_t wanted = std::max(bytes, chunk_bytes);
  if (params_.limit_bytes == 0) return wanted;
  const std::size_t taken = device_bytes_ + outside_bytes_;
  const std::size_t left = params_.limit_bytes - std::min(params_.limit_bytes, taken);
  return std::min(wanted, left - left % Ranges::grain_bytes);
}

/// Gives chunks back that nobody uses, but for `kept`; whether there were any. cudaFree waits for
/// the GPU, so whoever releases memory meanwhile does not wait for it.
bool DevicePool::trim(const std::set<std::byte*>& kept) {
  const std::vector<void*> dropped = drop_passed(kept);
  for (void* const chunk : dropped) api_->device_free(chunk);
  return !dropped.empty();
}

std::vector<void*> DevicePool::drop_passed(const std::set<std::byte*>& kept) {
  const std::lock_guard lock(mutex_);
  const auto has_passed = [&](const Uses& uses) {
    for (std::uint32_t stream = 0; stream < streams_.count(); ++stream)
      if (uses[stream] > streams_.passed(stream)) return false;
    return true;
  };
  std::vector<void*> dropped;
  for (Ranges& pool : pools_)
    for (const auto& [chunk, bytes] : pool.drop_chunks(has_passed, kept)) {
      dropped.push_back(chunk);
      reserved_.erase(chunk);
      device_bytes_ -= bytes;
    }
  return dropped;
}

Ranges& DevicePool::pool_of(const std::byte* address) {
  return *std::ranges::find_if(pools_, [&](const Ranges& pool) { return pool.holds(address); });
}

void DevicePool::release(void* block) noexcept {
  const std::lock_guard lock(mutex_);
  auto* begin = static_cast<std::byte*>(block);
  Ranges& pool = pool_of(begin);
  used_bytes_ -= pool.give(begin);
  if (!closed_) return;
  for (const auto& [chunk, bytes] : pool.drop_chunks([](const Uses&) { return true; })) {
    if (!forgotten_) free_on_any_thread(*api_, device_, api_->device_free, chunk);
    device_bytes_ -= bytes;
  }
}

void DevicePool::note_use(const void* address, Stamp stamp) {
  const std::lock_guard lock(mutex_);
  const auto* byte = static_cast<const std::byte*>(address);
  pool_of(byte).note_use(byte, stamp);
}

void DevicePool::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = true;
  for (Ranges& pool : pools_)
    for (const auto& [chunk, bytes] : pool.drop_chunks([](const Uses&) { return true; })) {
      free_on_any_thread(*api_, device_, api_->device_free, chunk);
      device_bytes_ -= bytes;
    }
}

void DevicePool::forget() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = forgotten_ = true;
}

std::shared_ptr<const void> DevicePool::count_outside(std::size_t bytes) {
  const auto count = [&] {
    const std::lock_guard lock(mutex_);
    const bool fits = chunk_within_limit(bytes, 0) >= bytes;
    if (fits) outside_bytes_ += bytes;
    return fits;
  };
  if (!count()) {
    trim({});
    if (!count()) throw exhausted(bytes);
  }
  return {this, [pool = shared_from_this(), bytes](const void*) mutable {
            {
              const std::lock_guard guard(pool->mutex_);
              pool->outside_bytes_ -= bytes;
            }
            pool.reset();  // the pool may itself remember this one, weakly (count_shared)
          }};
}

std::shared_ptr<const void> DevicePool::count_shared(std::uint32_t stream, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (auto counted = shared_[stream].lock()) return counted;
  }
  auto counted = count_outside(bytes);
  const std::lock_guard lock(mutex_);
  shared_[stream] = counted;
  return counted;
}

void DevicePool::give_back_idle() { trim(reserved_); }

DevicePool::Stats DevicePool::stats() const {
  const std::lock_guard lock(mutex_);
  return {.device_bytes = device_bytes_ + outside_bytes_, .used_bytes = used_bytes_};
}

Error DevicePool::exhausted(std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return {out_of_memory,
          "out of GPU memory: needs " + std::to_string(bytes) + " bytes, " +
              std::to_string(used_bytes_) + " of " + std::to_string(device_bytes_) + " are in use" +
              (params_.limit_bytes == 0 ? std::string()
                                        : ", the limit is " + std::to_string(params_.limit_bytes))};
}

PinnedPool::PinnedPool(ApiPtr api, std::size_t bytes)
    : api_(std::move(api)), device_(current_device(*api_)) {
  if (bytes > 0) grow(bytes);
}

PinnedPool::~PinnedPool() { close(); }

void PinnedPool::grow(std::size_t bytes) {
  void* chunk = nullptr;
  const std::size_t size = Ranges::rounded(bytes);
  api_->host_allocate(&chunk, size, 0);
  ranges_.add_chunk(static_cast<std::byte*>(chunk), size);
  bytes_ += size;
}

Memory PinnedPool::allocate(std::size_t bytes, bool must, std::size_t asker) {
  const std::lock_guard lock(mutex_);
  if (next_asker_.value_or(asker) != asker) return nullptr;
  next_asker_.reset();
  const std::size_t size = Ranges::rounded(bytes);
  const auto any = [](const Uses&) { return true; };
  auto taken = ranges_.take(size, any);
  if (!taken && !must) {
    next_asker_ = asker;
    return nullptr;
  }
  if (!taken) {
    grow(size);
    taken = ranges_.take(size, any);
  }
  return {taken->first, [pool = shared_from_this()](void* block) { pool->release(block); }};
}

void PinnedPool::release(void* block) noexcept {
  const std::lock_guard lock(mutex_);
  ranges_.give(static_cast<std::byte*>(block));
  if (!closed_) return;
  for (const auto& [chunk, bytes] : ranges_.drop_chunks([](const Uses&) { return true; }))
    if (!forgotten_) free_on_any_thread(*api_, device_, api_->host_free, chunk);
}

bool PinnedPool::holds(const void* address) const {
  const std::lock_guard lock(mutex_);
  return ranges_.holds(static_cast<const std::byte*>(address));
}

bool PinnedPool::may_lend(std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return lent_bytes_ + bytes <= bytes_ / 2;
}

Memory PinnedPool::lend(Memory memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  lent_bytes_ += bytes;
  void* block = memory.get();
  return {block, [pool = shared_from_this(), held = std::move(memory), bytes](void*) {
            const std::lock_guard guard(pool->mutex_);
            pool->lent_bytes_ -= bytes;
          }};
}

void PinnedPool::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = true;
  for (const auto& [chunk, bytes] : ranges_.drop_chunks([](const Uses&) { return true; }))
    free_on_any_thread(*api_, device_, api_->host_free, chunk);
}

void PinnedPool::forget() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = forgotten_ = true;
}

}  // namespace engine::cuda
