#include "memory/recent_blocks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "memory/refused.hpp"

namespace engine {
namespace {

constexpr std::size_t kMostKept = RecentBlocks::kMostKeptBytes / RecentBlocks::kLeastBytes;

bool is_kept_at_all(std::size_t bytes) noexcept {
  return bytes >= RecentBlocks::kLeastBytes && bytes <= RecentBlocks::kMostBytes;
}

/// An eighth of the power of two below: queries of nearly the same size share.
std::size_t rounded(std::size_t bytes) noexcept {
  const std::size_t grain = std::bit_floor(bytes) / 8;
  return (bytes + grain - 1) / grain * grain;
}

}  // namespace

RecentBlocks& RecentBlocks::process() noexcept {
  static RecentBlocks* const blocks = new RecentBlocks(MemoryAccount::process());
  return *blocks;
}

std::byte* RecentBlocks::allocate(std::size_t bytes) {
  if (!is_kept_at_all(bytes)) {
    if (bytes > SIZE_MAX - kAlignment) throw std::bad_alloc();
    const std::size_t size = (bytes + kAlignment) / kAlignment * kAlignment;
    auto* const block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  const std::size_t size = rounded(bytes);
  if (std::byte* const kept = take_kept(size)) return kept;
  void* const block =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(block);
}

void RecentBlocks::release(std::byte* block, std::size_t bytes) noexcept {
  if (!is_kept_at_all(bytes)) return std::free(block);
  const std::size_t size = rounded(bytes);
  if (!keep(block, size)) ::munmap(block, size);
}

std::shared_ptr<std::byte> RecentBlocks::counted(std::size_t bytes) {
  MemoryShare share(account_);
  if (!try_take(share, bytes)) throw MemoryRefused(bytes);
  std::byte* const block = allocate(bytes);
  static_cast<void>(share.lend());
  return {block, [this, bytes](std::byte* freed) {
            account_.give(bytes);
            release(freed, bytes);
          }};
}

bool RecentBlocks::try_take(MemoryShare& share, std::size_t bytes) noexcept {
  return share.try_take(bytes) || (give_back() > 0 && share.try_take(bytes));
}

std::size_t RecentBlocks::give_back() noexcept {
  std::vector<Kept> given;
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    given.swap(kept_);
    std::swap(bytes, kept_bytes_);
  }
  for (const Kept& kept : given) ::munmap(kept.block, kept.bytes);
  account_.give(bytes);
  return bytes;
}

std::size_t RecentBlocks::kept_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

std::byte* RecentBlocks::take_kept(std::size_t size) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                  [size](const Kept& kept) { return kept.bytes == size; });
  if (found == kept_.rend()) return nullptr;
  std::byte* const block = found->block;
  kept_.erase(std::next(found).base());
  kept_bytes_ -= size;
  account_.give(size);
  return block;
}

bool RecentBlocks::keep(std::byte* block, std::size_t size) noexcept {
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + size > kMostKeptBytes || !account_.try_take(size)) return false;
  if (kept_.capacity() < kMostKept) {
    try {
      kept_.reserve(kMostKept);
    } catch (const std::bad_alloc&) {
      account_.give(size);
      return false;
    }
  }
  kept_.push_back({block, size});
  kept_bytes_ += size;
  return true;
}

}  // namespace engine
