// Keeps the threads of a device on different CPUs.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

namespace engine {

/// Linux likes to put a woken thread on the CPU of the thread that woke it, there pre-empting it,
/// while another CPU idles: two lanes then run one after the other (measured: 400 µs instead of
/// 210 for two lanes of 180 µs, for seconds on end). So seat holders say where they run, and a
/// worker that finds itself on a holder's CPU moves to a free one. Threads of callers are never
/// moved, and nobody stays bound to a CPU. Thread-safe; all of it is advice, so relaxed.
class CpuSpread {
 public:
  CpuSpread();

  /// The calling thread took a seat; returns its CPU, for leave().
  [[nodiscard]] int sit() noexcept;
  void leave(int cpu) noexcept;

  /// Whether a seat holder runs on the CPU of the calling thread, which holds none.
  [[nodiscard]] bool is_crowded() const noexcept;
  /// Moves the calling worker to a CPU without a seat holder; false if there is none.
  bool move_away() const noexcept;
  /// Moves the calling thread to that CPU, whoever runs there, if it may run there.
  void move_to(int cpu) const noexcept;

 private:
  struct alignas(64) Cpu {
    std::atomic<int> holders{0};
  };

  [[nodiscard]] std::size_t here() const noexcept;

  std::vector<Cpu> cpus_;
};

}  // namespace engine
