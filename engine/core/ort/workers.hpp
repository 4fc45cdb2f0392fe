// The threads of one ONNX Runtime pool, kept off the CPU of the thread that they help.
#pragma once

#include <sched.h>

#include <atomic>
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
  /// Its threads may run where the calling thread may.
  Workers() noexcept;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Sessions with these options have their threads here; `this` outlives the session.
  void serve(const Api& api, OrtSessionOptions* options);

  /// The calling thread is about to run an operator on the pool: its threads leave its CPU. Costs
  /// a system call a thread where the CPU is another one than the last time, else nothing.
  void keep_off_callers_cpu() noexcept;

 private:
  static void* create(void* workers, void (*work)(void*), void* parameter) noexcept;
  static void join(void* thread) noexcept;

  cpu_set_t allowed_{};
  std::mutex mutex_;  // guards threads_
  std::list<std::thread> threads_;
  std::atomic<int> barred_{-1};
};

}  // namespace engine::ort
