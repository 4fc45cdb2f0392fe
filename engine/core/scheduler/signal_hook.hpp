// Hears the signals that a thread in a kernel cannot handle.
#pragma once

#include <atomic>
#include <csignal>

namespace engine {

/// Python's handlers run between two of its bytecodes, so never while its first thread computes.
/// When that lasts, the watch hooks itself before SIGINT's and SIGTERM's handlers, which are still
/// called, and ends the query; the caller then lets Python handle the signal. Signals without a
/// handler keep their effect.
class SignalHook {
 public:
  static SignalHook& get() noexcept;
  /// For the watch's thread, while a kernel of the hearing thread's run goes on.
  void set() noexcept;
  /// Whether a signal came since set(). Thread-safe.
  [[nodiscard]] bool heard() const noexcept {
    return heard_.load(std::memory_order_relaxed);  // relaxed: a later look sees it
  }
  /// For the hearing thread, once its run has ended. Returns whether a signal came; costs a load
  /// where it was not set.
  bool remove() noexcept;

 private:
  static void hear(int number, siginfo_t* info, void* context) noexcept;

  static constexpr int numbers_[] = {SIGINT, SIGTERM};
  struct sigaction before_[2] = {};
  bool is_hooked_[2] = {};
  std::atomic<bool> is_set_{false};
  std::atomic<bool> heard_{false};
};

}  // namespace engine
