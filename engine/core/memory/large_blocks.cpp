#include "memory/large_blocks.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "memory/refused.hpp"

namespace engine {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMostKeptBlocks = 8;

/// Whole pages, and no more than a 16th apart, so that queries of nearly the same size share.
std::size_t whole_pages(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) throw MemoryRefused(bytes);
  const std::size_t grain = std::max(kPageBytes, LargeBlocks::kLeastBytes / 16);
  return (bytes + grain - 1) / grain * grain;
}

}  // namespace

void* LargeBlocks::allocate(std::size_t bytes) {
  const std::size_t size = whole_pages(bytes);
  if (void* kept = take_kept(size)) return kept;
  if (!account_.try_take(size)) {
    static_cast<void>(give_back());
    if (!account_.try_take(size)) throw MemoryRefused(bytes);
  }
  void* block = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) {
    account_.give(size);
    throw std::bad_alloc();
  }
  return block;
}

void LargeBlocks::release(void* block, std::size_t bytes) noexcept {
  const std::size_t size = whole_pages(bytes);
  {
    const std::lock_guard lock(mutex_);
    if (kept_.capacity() < kMostKeptBlocks) kept_.reserve(kMostKeptBlocks);
    if (kept_.size() < kMostKeptBlocks) {
      kept_.push_back({block, size});
      return;
    }
  }
  ::munmap(block, size);
  account_.give(size);
}

std::size_t LargeBlocks::give_back() noexcept {
  std::vector<Kept> given;
  {
    const std::lock_guard lock(mutex_);
    given.swap(kept_);
  }
  std::size_t bytes = 0;
  for (const Kept& kept : given) {
    ::munmap(kept.block, kept.bytes);
    bytes += kept.bytes;
  }
  account_.give(bytes);
  return bytes;
}

std::size_t LargeBlocks::kept_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const Kept& kept : kept_) bytes += kept.bytes;
  return bytes;
}

void* LargeBlocks::take_kept(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, bytes, &Kept::bytes);
  if (found == kept_.end()) return nullptr;
  void* const block = found->block;
  kept_.erase(found);
  return block;
}

}  // namespace engine
