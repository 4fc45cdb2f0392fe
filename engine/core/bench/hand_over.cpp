// How long a node waits for the other lane after its predecessor ended: a chain of empty nodes
// that alternates between two devices of one lane each. As JSON, a row a round.
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "scheduler/machine.hpp"
#include "scheduler/plan_builder.hpp"
#include "scheduler/run.hpp"
#include "series.hpp"

namespace {

using namespace engine;
using namespace engine::bench;

constexpr int hops = 3'000;

/// Puts each thread of the process but the first, which only waits, on a CPU of its own.
void spread_lanes() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> cpus, threads;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.push_back(std::stoi(entry.path().filename()));
  std::sort(threads.begin(), threads.end());
  for (std::size_t i = 1; i < threads.size(); ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[(i - 1) % cpus.size()], &one);
    sched_setaffinity(threads[i], sizeof one, &one);
  }
}

double hop_ns(std::int64_t spin_ns, int repeats) {
  MachineParams params{.devices = {}, .spin_ns = spin_ns};
  for (const char* name : {"left", "right"})
    params.devices.push_back({.kind = "cpu", .name = name, .lanes = 1});
  MachineOwner machine(params);
  spread_lanes();
  PlanBuilder builder(machine.get());
  for (int i = 0; i <= hops; ++i)
    builder.add_node({.name = std::to_string(i),
                      .device = i % 2,
                      .after = i == 0 ? std::vector<int>{} : std::vector<int>{i - 1},
                      .kind = NodeKind::work});
  const auto plan = builder.build();
  return median_ns(repeats, [&] { machine->submit(*plan, {}, {})->wait(0, false); }) / hops;
}

}  // namespace

/// Argument: rounds, 15 if left out. Needs two CPUs.
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  std::printf("{\"hops\": %d, \"rounds\": [\n", hops);
  for (int i = 0; i < rounds; ++i)
    std::printf("  {\"spinning_ns\": %.1f, \"parked_ns\": %.1f}%s\n", hop_ns(50'000, 15),
                hop_ns(0, 15), i == rounds - 1 ? "" : ",");
  std::printf("]}\n");
}
