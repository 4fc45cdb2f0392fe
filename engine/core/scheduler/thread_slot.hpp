// A small number for each thread, for counters that threads do not share.
#pragma once

#include <cstdint>

namespace engine {

/// How many threads at once have a number of their own.
inline constexpr std::uint32_t thread_slots = 256;

namespace detail {

inline constexpr std::uint32_t slot_unset = UINT32_MAX;
extern constinit thread_local std::uint32_t own_slot;
[[nodiscard]] std::uint32_t take_thread_slot() noexcept;

}  // namespace detail

/// A number below thread_slots that no other living thread has, the same each time; thread_slots
/// for the threads that are too many, and for one that has all but ended. What the last thread of a
/// number wrote is seen by the next. Lock-free; a few instructions after a thread's first call.
[[nodiscard]] inline std::uint32_t thread_slot() noexcept {
  const std::uint32_t slot = detail::own_slot;
  return slot != detail::slot_unset ? slot : detail::take_thread_slot();
}

}  // namespace engine
