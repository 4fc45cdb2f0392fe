// Bounded multi-producer multi-consumer FIFO (Dmitry Vyukov's ring of sequenced cells).
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace engine {

/// Any number of threads may push and pop. Never blocks; O(1); about 10 ns for a pair.
/// T is copied in and out and should be small and trivial.
template <typename T>
class MpmcRing {
 public:
  /// Room for `capacity` elements, rounded up to a power of two, at least 2.
  explicit MpmcRing(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? std::size_t{2} : capacity) - 1),
        cells_(std::make_unique<Cell[]>(mask_ + 1)) {
    // relaxed: no other thread knows the ring yet
    for (std::size_t i = 0; i <= mask_; ++i) cells_[i].sequence.store(i, std::memory_order_relaxed);
  }

  /// False when the ring is full.
  [[nodiscard]] bool try_push(const T& item) noexcept {
    // relaxed: the position is only a guess, the cell's sequence decides
    std::size_t position = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[position & mask_];
      // acquire: the consumer's read of the old item happened before we overwrite it
      const std::size_t sequence = cell.sequence.load(std::memory_order_acquire);
      const auto lead = static_cast<std::ptrdiff_t>(sequence - position);
      if (lead < 0) return false;
      if (lead > 0) {
        position = tail_.load(std::memory_order_relaxed);  // relaxed: as above
      } else if (tail_.compare_exchange_weak(position, position + 1,
                                             std::memory_order_relaxed)) {  // claims only the index
        cell.item = item;
        // release: publishes the item to the consumer that acquires the sequence
        cell.sequence.store(position + 1, std::memory_order_release);
        return true;
      }
    }
  }

  /// False when the ring is empty (or its oldest item is still being written).
  [[nodiscard]] bool try_pop(T& item) noexcept {
    // relaxed: the position is only a guess, the cell's sequence decides
    std::size_t position = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[position & mask_];
      // acquire: pairs with the producer's release, makes the item visible
      const std::size_t sequence = cell.sequence.load(std::memory_order_acquire);
      const auto lead = static_cast<std::ptrdiff_t>(sequence - (position + 1));
      if (lead < 0) return false;
      if (lead > 0) {
        position = head_.load(std::memory_order_relaxed);  // relaxed: as above
      } else if (head_.compare_exchange_weak(position, position + 1,
                                             std::memory_order_relaxed)) {  // claims only the index
        item = cell.item;
        // release: our read of the item happens before the next producer's write
        cell.sequence.store(position + mask_ + 1, std::memory_order_release);
        return true;
      }
    }
  }

  /// Elements at some recent moment.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);  // relaxed: a statistic
    const std::size_t tail = tail_.load(std::memory_order_relaxed);  // relaxed: a statistic
    return static_cast<std::ptrdiff_t>(tail - head) > 0 ? tail - head : 0;
  }

 private:
  struct Cell {
    std::atomic<std::size_t> sequence{0};
    T item{};
  };

  const std::size_t mask_;
  const std::unique_ptr<Cell[]> cells_;
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::atomic<std::size_t> head_{0};
};

}  // namespace engine
