// How much of a core a thread gets beside others.
#pragma once

namespace engine {

/// Lets the calling thread run where no other wants to; where that is refused, at the lowest
/// weight. Needs no privilege.
void run_when_idle() noexcept;
/// Lets the calling thread, once woken, take a core from one that is in the middle of its time
/// slice: it asks for short ones itself (Linux 6.12 and newer; else nothing changes).
void ask_for_short_slices() noexcept;

}  // namespace engine
