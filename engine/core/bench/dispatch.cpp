// What the scheduler costs per node, as JSON: no-op and 1 us nodes, two shapes, 1 and 2 lanes.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "machine.hpp"
#include "plan_builder.hpp"
#include "run.hpp"
#include "work_kernel.hpp"

namespace {

using namespace engine;
using PlanPtr = std::shared_ptr<const Plan>;

MachineParams cpu(int lanes) {
  MachineParams params;
  params.devices.push_back({.kind = "cpu", .name = "cpu", .lanes = lanes});
  return params;
}

NodeSpec work(int index, std::vector<int> after, const std::shared_ptr<const Kernel>& kernel) {
  return {.name = "n" + std::to_string(index),
          .kernel = kernel,
          .after = std::move(after),
          .rank = index,
          .kind = NodeKind::work};
}

PlanPtr fork_join(Machine& machine, int node_count, const std::shared_ptr<const Kernel>& kernel) {
  PlanBuilder builder(machine.shared_from_this());
  builder.add_node(work(0, {}, kernel));
  std::vector<int> branches;
  for (int i = 1; i < node_count - 1; ++i)
    branches.push_back(builder.add_node(work(i, {0}, kernel)));
  builder.add_node(work(node_count - 1, branches, kernel));
  return builder.build();
}

/// Each node waits for one to three of the 100 before it.
PlanPtr random_dag(Machine& machine, int node_count, const std::shared_ptr<const Kernel>& kernel) {
  std::mt19937 random(7);
  PlanBuilder builder(machine.shared_from_this());
  for (int i = 0; i < node_count; ++i) {
    std::vector<int> after;
    for (unsigned k = 0; i > 0 && k < 1 + random() % 3; ++k)
      after.push_back(i - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(i, 100))));
    builder.add_node(work(i, after, kernel));
  }
  return builder.build();
}

void measure(const char* shape, int node_count, int lanes, std::int64_t grain_ns, int repeats) {
  MachineOwner machine(cpu(lanes));
  const auto kernel = grain_ns == 0 ? nullptr : std::make_shared<const WorkKernel>(grain_ns, false);
  const PlanPtr plan = std::string(shape) == "fork_join"
                           ? fork_join(*machine.get(), node_count, kernel)
                           : random_dag(*machine.get(), node_count, kernel);
  std::vector<double> per_node_ns;
  for (int i = 0; i < repeats; ++i) {
    const std::int64_t start_ns = now_ns();
    static_cast<void>(machine->run(*plan, {}, {}, 0));
    per_node_ns.push_back(static_cast<double>(now_ns() - start_ns) / node_count);
  }
  std::sort(per_node_ns.begin(), per_node_ns.end());
  std::printf(
      "  {\"shape\": \"%s\", \"nodes\": %d, \"lanes\": %d, \"grain_ns\": %lld, "
      "\"min_ns_per_node\": %.1f, \"median_ns_per_node\": %.1f},\n",
      shape, node_count, lanes, static_cast<long long>(grain_ns), per_node_ns.front(),
      per_node_ns[per_node_ns.size() / 2]);
}

/// A plan of one no-op node: what a synchronous query pays besides its kernel.
void measure_single(int lanes, int repeats) {
  MachineOwner machine(cpu(lanes));
  PlanBuilder builder(machine.get());
  builder.add_node(work(0, {}, nullptr));
  const PlanPtr plan = builder.build();
  std::vector<double> per_run_ns;
  for (int i = 0; i < repeats; ++i) {
    const std::int64_t start_ns = now_ns();
    for (int k = 0; k < 100; ++k) static_cast<void>(machine->run(*plan, {}, {}, 0));
    per_run_ns.push_back(static_cast<double>(now_ns() - start_ns) / 100);
  }
  std::sort(per_run_ns.begin(), per_run_ns.end());
  std::printf(
      "  {\"shape\": \"single\", \"nodes\": 1, \"lanes\": %d, \"grain_ns\": 0, "
      "\"min_ns_per_node\": %.1f, \"median_ns_per_node\": %.1f}%s\n",
      lanes, per_run_ns.front(), per_run_ns[per_run_ns.size() / 2], lanes == 2 ? "" : ",");
}

}  // namespace

int main() {
  std::printf("[\n");
  for (const char* shape : {"fork_join", "random"})
    for (const int lanes : {1, 2}) measure(shape, 10'000, lanes, 0, 200);
  for (const char* shape : {"fork_join", "random"})
    for (const int lanes : {1, 2}) measure(shape, 1'000, lanes, 1'000, 200);
  measure_single(1, 200);
  measure_single(2, 200);
  std::printf("]\n");
}
