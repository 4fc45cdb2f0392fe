// How many threads of the process may burn a core at once.
#pragma once

#include <atomic>
#include <memory>

namespace engine {

/// Executing threads always count; a thread may spin only while the total stays within the
/// limit, and stops as soon as others push it over. Thread-safe, lock-free.
class ThreadBudget {
 public:
  explicit ThreadBudget(int limit) : limit_(limit) {}

  /// The one of the process, which all machines without a limit of their own share: its cores, as
  /// of the last call.
  [[nodiscard]] static std::shared_ptr<ThreadBudget> of_process();

  void add_running(int threads) noexcept {
    active_.fetch_add(threads, std::memory_order_relaxed);  // relaxed: a count, orders nothing
  }
  void remove_running(int threads) noexcept {
    active_.fetch_sub(threads, std::memory_order_relaxed);  // relaxed: a count, orders nothing
  }
  /// Counts the caller as spinning if there is a core for it; then call remove_running(1). Other
  /// processes have `elsewhere` of the cores.
  [[nodiscard]] bool try_spin(int elsewhere = 0) noexcept {
    int active = active_.load(std::memory_order_relaxed);  // relaxed: the CAS confirms it
    while (active + elsewhere < limit())
      if (active_.compare_exchange_weak(active, active + 1, std::memory_order_relaxed))  // a count
        return true;
    return false;
  }
  /// Whether spinners have to make room.
  [[nodiscard]] bool exceeded(int elsewhere = 0) const noexcept {
    return active_.load(std::memory_order_relaxed) + elsewhere > limit();  // relaxed: a hint
  }
  [[nodiscard]] int limit() const noexcept {
    return limit_.load(std::memory_order_relaxed);  // relaxed: a number, orders nothing
  }

 private:
  std::atomic<int> limit_;
  alignas(64) std::atomic<int> active_{0};
};

}  // namespace engine
