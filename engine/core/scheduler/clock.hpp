// The core's one clock: CLOCK_MONOTONIC, the same as Python's time.monotonic_ns().
#pragma once

#include <ctime>

#include <cstdint>

namespace engine {

/// Nanoseconds on the monotonic clock. About 25 ns a call.
[[nodiscard]] inline std::int64_t now_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// The same clock as of its last tick, some milliseconds ago. About 5 ns a call.
[[nodiscard]] inline std::int64_t coarse_now_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// What the calling thread has had of its core. About 200 ns a call: a system call.
[[nodiscard]] inline std::int64_t thread_cpu_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Tells the core that this is a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // yield is a no-op on cores without SMT
#endif
}

}  // namespace engine
