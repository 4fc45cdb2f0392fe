// The threads of one ONNX Runtime pool, kept off the CPU of the thread that they help.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

#include "ort/api.hpp"

namespace engine::ort {

/// Creates the threads of a pool for ONNX Runtime and says where they may run.
///
/// A pool's threads sleep between two segments. Linux likes to wake a thread on the CPU of its
/// waker, and there both take turns while another CPU idles: a segment of width 2 then takes twice
/// its time, for as long as the kernel leaves it so (docs/PERFORMANCE.md). So whoever runs a
/// segment bars its own CPU to the threads that it is about to wake. Thread-safe.
class Workers {
 public:
  /// Its threads may run where the calling thread may; `asleep`, they begin with wake(). Until
  /// then the pool's callers compute their operators alone, in the parts that they would be in for
  /// all threads, so with the same bits.
  explicit Workers(bool asleep = false) noexcept;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Sessions with these options have their threads here; `this` outlives the session.
  void serve(const Api& api, OrtSessionOptions* options);

  /// The calling thread is about to run an operator on the pool: its threads leave its CPU. Costs
  /// a system call a thread where the CPU is another one than the last time, else nothing.
  void keep_off_callers_cpu() noexcept;

  /// Has them begin; again, nothing happens. False where the system has no more threads.
  bool wake() noexcept;
  /// Has a run that took so long wake them at its end; 0 for none.
  void wake_after(std::int64_t ns) noexcept { wake_after_ns_.store(ns, std::memory_order_relaxed); }
  /// After a run while they sleep.
  [[nodiscard]] bool wakes_after(std::int64_t ns) const noexcept {
    const std::int64_t most = wake_after_ns_.load(std::memory_order_relaxed);  // advice
    return most != 0 && ns > most;
  }
  [[nodiscard]] bool are_asleep() const noexcept {
    return asleep_.load(std::memory_order_relaxed);  // advice: one run more or less is timed
  }

 private:
  /// A thread that ONNX Runtime asked for.
  struct Worker {
    void (*work)(void*);
    void* parameter;
    std::thread thread;
  };

  static void* create(void* workers, void (*work)(void*), void* parameter) noexcept;
  static void join(void* thread) noexcept;

  cpu_set_t allowed_{};
  std::mutex mutex_;  // guards workers_
  std::list<Worker> workers_;
  std::atomic<bool> asleep_;
  std::atomic<std::int64_t> wake_after_ns_{0};
  std::atomic<int> barred_{-1};
};

}  // namespace engine::ort
