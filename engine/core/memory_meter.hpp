// Counts the values that a memory holds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace engine {

/// Thread-safe. All orders are relaxed: the counts order no other data, and a reader that wants
/// exact totals has waited for the runs first.
class MemoryMeter {
 public:
  /// `limit_bytes` 0: unlimited.
  explicit MemoryMeter(std::size_t limit_bytes = 0) : limit_bytes_(limit_bytes) {}

  /// Counts `values` of together `size_bytes`; false, and nothing counted, if over the limit.
  [[nodiscard]] bool try_add(std::int64_t values, std::size_t size_bytes) noexcept {
    // relaxed: as said above, here and below
    const std::size_t before = bytes_.fetch_add(size_bytes, std::memory_order_relaxed);
    if (limit_bytes_ != 0 && before + size_bytes > limit_bytes_) {
      bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);
      return false;
    }
    values_.fetch_add(values, std::memory_order_relaxed);
    return true;
  }
  void remove(std::size_t size_bytes) noexcept {
    bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);
    values_.fetch_sub(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t values() const noexcept {
    return values_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t limit_bytes() const noexcept { return limit_bytes_; }

 private:
  const std::size_t limit_bytes_;
  alignas(64) std::atomic<std::size_t> bytes_{0};
  std::atomic<std::int64_t> values_{0};
};

}  // namespace engine
