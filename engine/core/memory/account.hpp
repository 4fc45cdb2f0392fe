// How much memory the queries of a process hold, and how much they may.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace engine {

/// Thread-safe, never blocks; each call is one atomic operation on a line that all share, so count
/// what is large: requests, answers, blocks, not single values. Relaxed throughout: the numbers
/// order no other data.
class MemoryAccount {
 public:
  /// `limit_bytes` 0: no limit, but it counts all the same.
  explicit MemoryAccount(std::size_t limit_bytes = 0) noexcept : limit_bytes_(limit_bytes) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  /// The process's own, without a limit until one is set; never destroyed.
  [[nodiscard]] static MemoryAccount& process() noexcept;

  /// Takes so many bytes; false, and nothing taken, where all together would exceed the limit.
  [[nodiscard]] bool try_take(std::size_t bytes) noexcept {
    // relaxed, all: as said above
    std::size_t held = held_bytes_.load(std::memory_order_relaxed);
    do {
      if (bytes > room_beside(held)) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
    } while (!held_bytes_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
    return true;
  }
  /// Gives back what was taken, in whatever parts.
  void give(std::size_t bytes) noexcept {
    held_bytes_.fetch_sub(bytes, std::memory_order_relaxed);  // relaxed: as said above
  }

  // relaxed, all of these: as said above
  void set_limit(std::size_t bytes) noexcept {
    limit_bytes_.store(bytes, std::memory_order_relaxed);
  }
  /// What the process holds that nobody takes here: code, models, holes in heaps.
  void set_others(std::size_t bytes) noexcept {
    others_bytes_.store(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t limit_bytes() const noexcept {
    return limit_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t others_bytes() const noexcept {
    return others_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    return held_bytes_.load(std::memory_order_relaxed);
  }
  /// How often it was refused.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return refused_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::size_t room_beside(std::size_t held) const noexcept {
    const std::size_t limit = limit_bytes();
    if (limit == 0) return SIZE_MAX - held;
    const std::size_t others = others_bytes();
    return limit > others && limit - others > held ? limit - others - held : 0;
  }

  alignas(64) std::atomic<std::size_t> held_bytes_{0};
  std::atomic<std::uint64_t> refused_{0};
  alignas(64) std::atomic<std::size_t> limit_bytes_;  // read with each take, written rarely
  std::atomic<std::size_t> others_bytes_{0};
};

/// Nothing of so many bytes or less is counted by itself: that would take longer than it does.
constexpr std::size_t uncounted_bytes = 16 * 1024;

/// What one query has taken; gives it back when it ends. For one thread at a time.
class MemoryShare {
 public:
  explicit MemoryShare(MemoryAccount& account = MemoryAccount::process()) noexcept
      : account_(&account) {}
  MemoryShare(MemoryShare&& other) noexcept
      : account_(other.account_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryShare& operator=(MemoryShare&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryShare() { give_all(); }

  /// So many bytes more; false, and none, above the account's limit.
  [[nodiscard]] bool try_take(std::size_t bytes) noexcept {
    if (!account_->try_take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  void give_all() noexcept { account_->give(lend()); }
  /// Leaves to the caller to give back all that was taken; returns how much.
  [[nodiscard]] std::size_t lend() noexcept { return std::exchange(bytes_, 0); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  MemoryAccount* account_;
  std::size_t bytes_ = 0;
};

}  // namespace engine
