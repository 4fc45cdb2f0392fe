#include "cuda_memory.hpp"

#include <algorithm>

namespace engine::cuda {

DevicePool::DevicePool(ApiPtr api, Streams& streams, const Params& params)
    : api_(std::move(api)), streams_(streams), params_(params), pools_(params.pools) {
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
  const std::lock_guard lock(mutex_);
  const std::size_t size = Ranges::rounded(bytes);
  std::byte* block = take(stream, stream, size);
  if (block == nullptr && grow(stream, size, params_.chunk_bytes))
    block = take(stream, stream, size);
  for (std::uint32_t other = 0; block == nullptr && other < pools_.size(); ++other)
    if (other != stream) block = take(other, stream, size);
  if (block == nullptr && trim({}) && grow(stream, size, params_.chunk_bytes))
    block = take(stream, stream, size);
  if (block == nullptr) throw exhausted(size);
  used_bytes_ += size;
  return block;
}

std::byte* DevicePool::take(std::uint32_t pool, std::uint32_t stream, std::size_t bytes) {
  const auto is_behind = [&](const Uses& uses) {
    for (std::uint32_t other = 0; other < streams_.count(); ++other)
      if (!streams_.is_behind(stream, {other, uses[other]})) return false;
    return true;
  };
  const auto taken = pools_[pool].take(bytes, is_behind);
  if (!taken) return nullptr;
  streams_.wait(stream, taken->second);
  // By the submission at hand, even if nothing else should say so.
  pools_[pool].note_use(taken->first, streams_.next(stream));
  return taken->first;
}

/// One more chunk; false if that would pass the limit or the device has no more.
bool DevicePool::grow(std::uint32_t pool, std::size_t bytes, std::size_t chunk_bytes) {
  std::size_t wanted = std::max(bytes, chunk_bytes);
  if (params_.limit_bytes != 0) {
    if (device_bytes_ + bytes > params_.limit_bytes) return false;
    wanted = std::min(wanted, params_.limit_bytes - device_bytes_);
    wanted -= wanted % Ranges::grain_bytes;
  }
  if (wanted < bytes) return false;
  void* chunk = nullptr;
  const int code = api_->device_allocate.code(&chunk, wanted);
  if (code == out_of_memory) return false;
  if (code != 0) throw api_->library().error(code, "cudaMalloc");
  pools_[pool].add_chunk(static_cast<std::byte*>(chunk), wanted);
  device_bytes_ += wanted;
  return true;
}

/// Gives chunks back that nobody uses, but for `kept`; whether there were any.
bool DevicePool::trim(const std::set<std::byte*>& kept) {
  const auto has_passed = [&](const Uses& uses) {
    for (std::uint32_t stream = 0; stream < streams_.count(); ++stream)
      if (uses[stream] > streams_.passed(stream)) return false;
    return true;
  };
  bool any = false;
  for (Ranges& pool : pools_)
    for (const auto& [chunk, bytes] : pool.drop_chunks(has_passed, kept)) {
      api_->device_free(chunk);
      reserved_.erase(chunk);
      device_bytes_ -= bytes;
      any = true;
    }
  return any;
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
    if (!forgotten_) api_->device_free.code(chunk);
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
      api_->device_free.code(chunk);
      device_bytes_ -= bytes;
    }
}

void DevicePool::forget() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = forgotten_ = true;
}

void DevicePool::give_back_idle() {
  const std::lock_guard lock(mutex_);
  trim(reserved_);
}

DevicePool::Stats DevicePool::stats() const {
  const std::lock_guard lock(mutex_);
  return {.device_bytes = device_bytes_, .used_bytes = used_bytes_};
}

Error DevicePool::exhausted(std::size_t bytes) const {
  return {out_of_memory,
          "out of GPU memory: needs " + std::to_string(bytes) + " bytes, " +
              std::to_string(used_bytes_) + " of " + std::to_string(device_bytes_) + " are in use" +
              (params_.limit_bytes == 0 ? std::string()
                                        : ", the limit is " + std::to_string(params_.limit_bytes))};
}

PinnedPool::PinnedPool(ApiPtr api, std::size_t bytes) : api_(std::move(api)) {
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

Memory PinnedPool::allocate(std::size_t bytes, bool must) {
  const std::lock_guard lock(mutex_);
  const std::size_t size = Ranges::rounded(bytes);
  const auto any = [](const Uses&) { return true; };
  auto taken = ranges_.take(size, any);
  if (!taken && !must) return nullptr;
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
    if (!forgotten_) api_->host_free.code(chunk);
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
    api_->host_free.code(chunk);
}

void PinnedPool::forget() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = forgotten_ = true;
}

}  // namespace engine::cuda
