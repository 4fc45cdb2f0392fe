#include "devices/cpu/thread_weight.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace engine {

namespace {

constexpr int lowest = 19;
constexpr std::uint64_t short_slice_ns = 100'000;

/// What the kernel's sched_setattr takes; glibc has no name for it.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};

}  // namespace

void run_when_idle() noexcept {
  const sched_param param{};
  if (sched_setscheduler(0, SCHED_IDLE, &param) != 0)
    static_cast<void>(setpriority(PRIO_PROCESS, 0, lowest));  // of this thread, on Linux
}

void ask_for_short_slices() noexcept {
  SchedulingAttributes attributes;
  attributes.nice = getpriority(PRIO_PROCESS, 0);  // of this thread, on Linux
  attributes.runtime_ns = short_slice_ns;
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0U));
}

}  // namespace engine
