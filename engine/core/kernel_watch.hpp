// Ends what is in a kernel for too long: one thread looks now and then at what every lane is in.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.hpp"

namespace engine {

/// What may be in a kernel for too long.
class Watched {
 public:
  /// Called by the watch's thread while one of its kernels runs; stops them if it is time.
  virtual void look(std::int64_t now_ns) noexcept = 0;

 protected:
  ~Watched() = default;
};

/// A lane says what it is in by a store and a compare-exchange on a cache line of its own, and
/// reads no clock: how long that lasts is for the watch to find out, to within a tick. Thread-safe.
class KernelWatch {
 public:
  /// How late a limit may be noticed: while kernels run, and where none ran at the last look.
  static constexpr std::int64_t busy_tick_ns = 20'000'000;
  static constexpr std::int64_t idle_tick_ns = 250'000'000;

  /// What one thread is in. They are as many as threads were in kernels at once, and stay.
  class alignas(64) Seat {
    friend class KernelWatch;
    std::atomic<std::uintptr_t> watched_{0};  ///< lowest bit: being looked at
    std::atomic<bool> is_taken_{true};
    Seat* next_ = nullptr;
  };

  /// Says that this thread is in a kernel of `watched`, which must outlive the stay.
  class Stay {
   public:
    explicit Stay(Watched& watched) noexcept
        : seat_(mine()),
          before_(seat_.watched_.load(std::memory_order_relaxed)),  // relaxed: our own
          watched_(reinterpret_cast<std::uintptr_t>(&watched)) {
      // release: whoever looks at it sees it prepared
      seat_.watched_.store(watched_, std::memory_order_release);
    }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    ~Stay() {
      std::uintptr_t expected = watched_;
      // acquire: what the watch did comes before what follows the kernel
      while (!seat_.watched_.compare_exchange_weak(expected, before_, std::memory_order_acquire,
                                                   std::memory_order_relaxed)) {
        expected = watched_;
        cpu_relax();
      }
    }

   private:
    Seat& seat_;
    const std::uintptr_t before_;
    const std::uintptr_t watched_;
  };

  /// The process's, never destroyed.
  static KernelWatch& get();
  /// Starts the thread, if this process has none: a forked child has not.
  void start();
  /// Looks at every lane once; returns whether one was in a kernel.
  bool look(std::int64_t now_ns) noexcept;

 private:
  [[nodiscard]] static Seat& mine() noexcept {
    Seat* const seat = mine_;
    return seat != nullptr ? *seat : take();
  }
  static Seat& take() noexcept;
  [[noreturn]] void watch() noexcept;

  static constinit thread_local Seat* mine_;
  std::atomic<Seat*> seats_{nullptr};
  std::atomic<int> process_{0};  ///< in which the thread was started
};

}  // namespace engine
