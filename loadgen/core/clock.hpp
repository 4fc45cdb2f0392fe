// What time it is.
#pragma once

#include <cstdint>
#include <ctime>

namespace loadgen {

inline constexpr std::int64_t never_ns = INT64_MAX;

namespace clocks {

[[nodiscard]] inline std::int64_t read_ns(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * INT64_C(1'000'000'000) + time.tv_nsec;
}

}  // namespace clocks

/// As Python's time.monotonic_ns.
[[nodiscard]] inline std::int64_t now_ns() noexcept { return clocks::read_ns(CLOCK_MONOTONIC); }

/// What the calling thread has computed so far.
[[nodiscard]] inline std::int64_t thread_cpu_ns() noexcept {
  return clocks::read_ns(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace loadgen
