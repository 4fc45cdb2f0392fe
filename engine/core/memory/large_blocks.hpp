// Blocks that are large enough to come straight from the system, and to go back to it.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "memory/account.hpp"

namespace engine {

/// An arena never gives back a region of which a byte is used, and one tensor of 2 GB would stay
/// until the process ends. Blocks from `kLeastBytes` on come from here: one that was freed is kept
/// for the next query of its size, because new pages cost about a millisecond for 10 MB, until the
/// account needs it or give_back() is called. What is kept stays taken from the account.
/// Thread-safe; a lock for the time of a look through some blocks.
class LargeBlocks {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{32} << 20;

  explicit LargeBlocks(MemoryAccount& account) noexcept : account_(account) {}
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;
  ~LargeBlocks() { give_back(); }

  /// Aligned to a page. Throws MemoryRefused above the account's limit, std::bad_alloc where the
  /// system has none.
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// What allocate() gave.
  void release(void* block, std::size_t bytes) noexcept;
  /// Gives all that is kept back to the system; returns how many bytes.
  std::size_t give_back() noexcept;
  [[nodiscard]] std::size_t kept_bytes() const noexcept;

 private:
  struct Kept {
    void* block;
    std::size_t bytes;
  };

  [[nodiscard]] void* take_kept(std::size_t bytes) noexcept;

  MemoryAccount& account_;
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace engine
