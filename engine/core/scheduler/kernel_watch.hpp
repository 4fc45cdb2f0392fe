// Ends what is in a kernel for too long: one thread looks now and then at what every lane is in.
#pragma once

#include <atomic>
#include <cstdint>

#include "scheduler/clock.hpp"
#include "scheduler/parker.hpp"

namespace engine {

/// What may be in a kernel for too long.
class Watched {
 public:
  /// Called by the watch's thread while one of its kernels runs; stops them if it is time. Returns
  /// whether they compute in vain: they were stopped, and have not returned.
  virtual bool look(std::int64_t now_ns) noexcept = 0;
  /// A kernel has not returned for KernelWatch::held_after_ns since then; or it has, after all.
  virtual void hold(std::uint32_t part) noexcept { static_cast<void>(part); }
  virtual void let_go(std::uint32_t part) noexcept { static_cast<void>(part); }

 protected:
  ~Watched() = default;
};

/// A lane says what it is in by a store and a compare-exchange on a cache line of its own, and
/// reads no clock: how long that lasts is for the watch to find out, to within a tick. Where none
/// is in anything, the watch's thread sleeps until one is again. Thread-safe.
class KernelWatch {
 public:
  /// How late a limit may be noticed: while kernels run, where none ran at the last look, and then
  /// of what is not pressing.
  static constexpr std::int64_t busy_tick_ns = 20'000'000;
  static constexpr std::int64_t idle_tick_ns = 250'000'000;
  static constexpr std::int64_t slow_tick_ns = 1'000'000'000;
  /// A limit that is as long or longer is not pressing.
  static constexpr std::int64_t long_limit_ns = 10'000'000'000;
  /// How long a kernel that was stopped may take to return before its lane counts as held.
  static constexpr std::int64_t held_after_ns = 30'000'000'000;

  /// What one thread is in. They are as many as threads were in kernels at once, and stay.
  class alignas(64) Seat {
    friend class KernelWatch;
    std::atomic<std::uintptr_t> watched_{0};  ///< lowest bit: being looked at
    std::atomic<bool> is_taken_{true};
    Seat* next_ = nullptr;
    // The watch's while the lowest bit is set, else the holder's.
    std::uint32_t part_ = 0;
    std::uintptr_t late_ = 0;  ///< seen computing in vain, and since when
    std::int64_t late_since_ns_ = 0;
    bool is_held_ = false;

    void note_late(Watched& watched, std::int64_t now_ns) noexcept;
    void end_late(Watched& watched) noexcept;
    /// Once nobody looks.
    void replace(std::uintptr_t before, std::uintptr_t after) noexcept {
      std::uintptr_t expected = before;
      // acquire: what the watch did comes before what follows; release: and ours before its looks
      while (!watched_.compare_exchange_weak(expected, after, std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
        expected = before;
        cpu_relax();
      }
    }
  };

  /// Says that this thread is in a kernel of `watched`, which must outlive the stay. `part` says
  /// which kernel it is, in words of its own. Stays may nest.
  class Stay {
   public:
    explicit Stay(Watched& watched, std::uint32_t part = 0, bool presses = true) noexcept
        : seat_(mine()),
          before_(seat_.watched_.load(std::memory_order_relaxed) & ~std::uintptr_t{1}),  // our own
          before_part_(seat_.part_),
          watched_(watched) {
      if (before_ != 0) seat_.replace(before_, 0);
      seat_.part_ = part;
      // release: whoever looks at it sees it prepared
      seat_.watched_.store(address(), std::memory_order_release);
      // relaxed: see rest(); a line that is seldom written
      const State tells = presses ? pressing : entered;
      if (state_.load(std::memory_order_relaxed) > tells) [[unlikely]]
        note_entered(tells);
    }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    ~Stay() {
      seat_.replace(address(), 0);
      if (seat_.late_ == address()) seat_.end_late(watched_);
      if (before_ == 0) return;
      seat_.part_ = before_part_;
      // release: as above
      seat_.watched_.store(before_, std::memory_order_release);
    }

   private:
    [[nodiscard]] std::uintptr_t address() const noexcept {
      return reinterpret_cast<std::uintptr_t>(&watched_);
    }

    Seat& seat_;
    const std::uintptr_t before_;
    const std::uint32_t before_part_;
    Watched& watched_;
  };

  /// The process's, never destroyed.
  static KernelWatch& get();
  /// Starts the thread, if this process has none: a forked child has not.
  void start();
  /// Looks at every lane once; returns whether one was in a kernel.
  bool look(std::int64_t now_ns) noexcept;
  /// Whether the thread sleeps until a kernel is entered.
  [[nodiscard]] static bool is_asleep() noexcept {
    return state_.load(std::memory_order_relaxed) == asleep;  // relaxed: a hint
  }

 private:
  /// What those who enter kernels and the watch's thread tell each other.
  enum State : std::uint8_t {
    pressing,  ///< a kernel was entered since the last look, whose limit is to be noticed soon
    entered,   ///< one was
    quiet,     ///< none was; the next look comes soon
    slow,      ///< none was; the next look comes later
    asleep     ///< nor for a tick, and nobody was in one: who enters one wakes the thread
  };

  [[nodiscard]] static Seat& mine() noexcept {
    Seat* const seat = mine_;
    return seat != nullptr ? *seat : take();
  }
  static Seat& take() noexcept;
  static void note_entered(State tells) noexcept;
  static void rest() noexcept;
  [[noreturn]] void watch() noexcept;

  static constinit thread_local Seat* mine_;
  static constinit EventCount thread_;
  alignas(64) static constinit std::atomic<State> state_;
  std::atomic<Seat*> seats_{nullptr};
  std::atomic<int> process_{0};  ///< in which the thread was started
};

}  // namespace engine
