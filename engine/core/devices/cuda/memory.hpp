// The memory of one GPU, and the pinned host memory that copies to and from it go through.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "devices/cuda/ranges.hpp"

namespace engine::cuda {

/// Memory that goes back to its pool with the last holder, on whatever thread that is.
using Memory = std::shared_ptr<void>;

/// Device memory: a pool per stream that allocates. A block is used again on its own stream at
/// once, since the stream is in order; on another only behind the events of its last uses.
///
/// Threads that submit to different streams may use it at once; it may then take more of the device
/// than one alone would, within the limit.
///
/// Memory is asked of the device in chunks, up to the limit; then blocks of other streams' pools
/// are taken; then chunks that are free are given back, so that one of another size can be had;
/// then it is out of memory.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  struct Params {
    std::uint32_t pools = 1;        ///< streams 0 to pools - 1 allocate
    std::size_t limit_bytes = 0;    ///< 0: what the device has
    std::size_t reserve_bytes = 0;  ///< asked of the device at the start, over all pools
    std::size_t chunk_bytes = 32U << 20;
  };
  struct Stats {
    std::size_t device_bytes = 0;  ///< held of the device, by libraries besides included
    std::size_t used_bytes = 0;    ///< of these, by values
  };

  /// Throws Error.
  DevicePool(ApiPtr api, Streams& streams, const Params& params);
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;
  ~DevicePool();

  /// For work that is submitted to `stream` from now on, which waits if it must. At least 256-byte
  /// aligned. By whoever submits to the stream. Throws Error of code out_of_memory.
  [[nodiscard]] Memory allocate(std::uint32_t stream, std::size_t bytes);
  /// The same without a holder; give back with release().
  [[nodiscard]] void* allocate_bare(std::uint32_t stream, std::size_t bytes);
  /// Thread-safe.
  void release(void* block) noexcept;
  /// Work up to `stamp` uses the block that holds `address`. Thread-safe.
  void note_use(const void* address, Stamp stamp);
  /// The streams are about to go, their work has ended: frees what nobody holds, and from now on
  /// whatever comes back.
  void close() noexcept;
  /// The same for memory that must not be freed any more: CUDA was reset.
  void forget() noexcept;
  /// Memory that libraries take of the device by themselves: it counts towards the limit and what
  /// is held, as long as the returned lives. Thread-safe; throws Error of code out_of_memory.
  [[nodiscard]] std::shared_ptr<const void> count_outside(std::size_t bytes);
  /// The same for what all users of a stream share: counted once, as long as one of them lives.
  [[nodiscard]] std::shared_ptr<const void> count_shared(std::uint32_t stream, std::size_t bytes);
  /// Gives the device back what is free and was not reserved. Throws Error.
  void give_back_idle();
  [[nodiscard]] Stats stats() const;

 private:
  [[nodiscard]] std::byte* take(std::uint32_t pool, std::uint32_t stream, std::size_t bytes);
  [[nodiscard]] std::byte* take_grown(std::uint32_t stream, std::size_t bytes);
  bool grow(std::uint32_t pool, std::size_t bytes, std::size_t chunk_bytes);
  [[nodiscard]] std::size_t chunk_within_limit(std::size_t bytes, std::size_t chunk_bytes) const;
  bool trim(const std::set<std::byte*>& kept);
  [[nodiscard]] std::vector<void*> drop_passed(const std::set<std::byte*>& kept);
  [[nodiscard]] Ranges& pool_of(const std::byte* address);
  [[nodiscard]] Error exhausted(std::size_t bytes) const;

  const ApiPtr api_;
  const int device_;  ///< the GPU that was current when it was made
  Streams& streams_;
  const Params params_;
  mutable std::mutex mutex_;  // guards all below
  std::vector<Ranges> pools_;
  std::set<std::byte*> reserved_;
  std::size_t device_bytes_ = 0, used_bytes_ = 0;
  std::size_t outside_bytes_ = 0;                  ///< of libraries
  std::vector<std::weak_ptr<const void>> shared_;  ///< by stream: what its users share
  bool closed_ = false, forgotten_ = false;
};

/// Pinned host memory. It is asked for once, at the start; more only where a copy could never go on
/// otherwise.
class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
 public:
  PinnedPool(ApiPtr api, std::size_t bytes);
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;
  ~PinnedPool();

  /// Null if there is not enough now, and then whoever asked, by a number of the caller's choice,
  /// is the next to get some and must ask again: what comes back piece by piece would else go to
  /// who asks for little. With `must` it asks for more instead. Thread-safe.
  [[nodiscard]] Memory allocate(std::size_t bytes, bool must, std::size_t asker = 0);
  /// Whether the address lies in this memory. Thread-safe.
  [[nodiscard]] bool holds(const void* address) const;
  /// Whether a value may keep a block: at most half of all may be kept, so that copies go on
  /// whatever callers do with their answers. Thread-safe.
  [[nodiscard]] bool may_lend(std::size_t bytes) const;
  /// The same memory, counted as lent until it is released.
  [[nodiscard]] Memory lend(Memory memory, std::size_t bytes);
  void close() noexcept;
  /// As DevicePool::forget.
  void forget() noexcept;

 private:
  void release(void* block) noexcept;
  void grow(std::size_t bytes);

  const ApiPtr api_;
  const int device_;          ///< as DevicePool's
  mutable std::mutex mutex_;  // guards all below
  Ranges ranges_;
  std::size_t bytes_ = 0, lent_bytes_ = 0;
  std::optional<std::size_t> next_asker_;  ///< who asked in vain
  bool closed_ = false, forgotten_ = false;
};

}  // namespace engine::cuda
