// How much of a core a thread gets beside others.
#pragma once

#include <sys/types.h>

namespace engine {

/// The number of the calling thread.
[[nodiscard]] pid_t this_thread() noexcept;
/// The calling thread's nice value.
[[nodiscard]] int own_nice() noexcept;

/// Lets the calling thread run where no other wants to; where that is refused, at the lowest
/// weight. Needs no privilege.
void run_when_idle() noexcept;
/// Gives a thread of this process the lowest weight beside others. Needs no privilege; about a
/// microsecond.
void lower_weight(pid_t thread) noexcept;
/// Gives a thread the weight of that nice value; false where the system does not let us raise it
/// again (without CAP_SYS_NICE or an RLIMIT_NICE).
[[nodiscard]] bool restore_weight(pid_t thread, int nice) noexcept;

/// Lets the calling thread, once woken, take a core from one that is in the middle of its time
/// slice: it asks for short ones itself (Linux 6.12 and newer; else nothing changes).
void ask_for_short_slices() noexcept;

}  // namespace engine
