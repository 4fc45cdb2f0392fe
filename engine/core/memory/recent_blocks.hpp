// Blocks that were used lately, for the next message or tensor of their size.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/account.hpp"

namespace engine {

/// What the C library frees at this size goes back to the system sooner or later, and the next
/// block has its pages zeroed anew: 290 µs for 600 kB, twenty times a copy. Here the block that was
/// released last is given first: a core may still have it in its cache.
///
/// What is kept, 32 MiB at most, is taken from the account; what is in use its users count.
/// Thread-safe; a lock for the time of a look through some blocks.
class RecentBlocks {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMostKeptBytes = std::size_t{32} << 20;
  static constexpr std::size_t kAlignment = 64;

  explicit RecentBlocks(MemoryAccount& account) noexcept : account_(account) {}
  RecentBlocks(const RecentBlocks&) = delete;
  RecentBlocks& operator=(const RecentBlocks&) = delete;
  ~RecentBlocks() { give_back(); }

  /// The process's own, of its account; never destroyed.
  [[nodiscard]] static RecentBlocks& process() noexcept;

  /// At least so many bytes, aligned to kAlignment, with whatever was in them; of any size, though
  /// smaller and larger ones are not kept. Throws std::bad_alloc. Not counted.
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  /// What allocate() gave for as many bytes.
  void release(std::byte* block, std::size_t bytes) noexcept;
  /// The same as one, counted in the account while it is held. Throws MemoryRefused above its
  /// limit.
  [[nodiscard]] std::shared_ptr<std::byte> counted(std::size_t bytes);

  /// Takes of the account, giving back what is kept where there is no room.
  [[nodiscard]] bool try_take(MemoryShare& share, std::size_t bytes) noexcept;
  /// Gives all that is kept back to the system; returns how many bytes.
  std::size_t give_back() noexcept;
  [[nodiscard]] std::size_t kept_bytes() const noexcept;

 private:
  struct Kept {
    std::byte* block;
    std::size_t bytes;
  };

  [[nodiscard]] std::byte* take_kept(std::size_t size) noexcept;
  [[nodiscard]] bool keep(std::byte* block, std::size_t size) noexcept;

  MemoryAccount& account_;
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;      // guarded by mutex_; the latest is last
  std::size_t kept_bytes_ = 0;  // guarded by mutex_
};

}  // namespace engine
