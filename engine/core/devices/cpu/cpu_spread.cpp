#include "devices/cpu/cpu_spread.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace engine {

namespace {

/// Moves the calling thread to one of those CPUs; false if there is none.
bool visit(const cpu_set_t& there, const cpu_set_t& allowed) noexcept {
  if (CPU_COUNT(&there) == 0 || sched_setaffinity(0, sizeof there, &there) != 0) return false;
  // The move is done; where the scheduler wants us later is its business again.
  sched_setaffinity(0, sizeof allowed, &allowed);
  return true;
}

}  // namespace

CpuSpread::CpuSpread()
    : cpus_(static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)))) {}

int CpuSpread::sit() noexcept {
  const std::size_t cpu = here();
  cpus_[cpu].holders.fetch_add(1, std::memory_order_relaxed);  // relaxed: advice
  return static_cast<int>(cpu);
}

void CpuSpread::leave(int cpu) noexcept {
  cpus_[static_cast<std::size_t>(cpu)].holders.fetch_sub(1, std::memory_order_relaxed);  // advice
}

bool CpuSpread::is_crowded() const noexcept {
  return cpus_[here()].holders.load(std::memory_order_relaxed) > 0;  // relaxed: advice
}

bool CpuSpread::move_away() const noexcept {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  cpu_set_t free = allowed;
  for (std::size_t cpu = 0; cpu < cpus_.size() && cpu < CPU_SETSIZE; ++cpu)
    if (cpus_[cpu].holders.load(std::memory_order_relaxed) > 0) CPU_CLR(cpu, &free);  // advice
  return visit(free, allowed);
}

void CpuSpread::move_to(int cpu) const noexcept {
  cpu_set_t allowed, there;
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() == cpu) return;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_ZERO(&there);
  if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &there);
  static_cast<void>(visit(there, allowed));
}

std::size_t CpuSpread::here() const noexcept {
  const int cpu = sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::size_t>(cpu) % cpus_.size();
}

}  // namespace engine
