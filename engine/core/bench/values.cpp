// What nodes that pass values on cost: a graph of forks and joins, a value an edge, one lane and
// two. As JSON, a row a round.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "graphs.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/plan_builder.hpp"
#include "scheduler/run.hpp"
#include "series.hpp"

namespace {

using namespace engine;
using namespace engine::bench;

constexpr int node_count = 10'000;

class Nothing final : public Value {
 public:
  [[nodiscard]] std::size_t bytes() const noexcept override { return 8; }
};

/// Computes nothing; each output is the same value.
class PassKernel final : public Kernel {
 public:
  void execute(std::span<const ValuePtr>, std::span<ValuePtr> outputs,
               CancelToken*) const override {
    // Not shared among lanes, whose counts of references would be most of what is measured.
    thread_local const ValuePtr value = std::make_shared<Nothing>();
    for (ValuePtr& output : outputs) output = value;
  }
};

std::shared_ptr<const Plan> plan_of(const MachineOwner& machine, const Edges& edges) {
  const auto kernel = std::make_shared<const PassKernel>();
  PlanBuilder builder(machine.get());
  std::vector<int> outputs;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    outputs.push_back(builder.add_value("v" + std::to_string(i)));
    std::vector<int> inputs;
    for (const int before : edges[i]) inputs.push_back(outputs[static_cast<std::size_t>(before)]);
    builder.add_node({.name = std::to_string(i),
                      .kernel = kernel,
                      .inputs = std::move(inputs),
                      .outputs = {outputs.back()},
                      .rank = static_cast<std::int64_t>(i)});
  }
  return builder.build();
}

double node_ns(const Edges& edges, int lanes) {
  MachineParams params;
  params.devices.push_back({.kind = "cpu", .name = "cpu", .lanes = lanes});
  MachineOwner machine(params);
  const auto plan = plan_of(machine, edges);
  return median_ns(20, [&] { static_cast<void>(machine->run(*plan, {}, {}, 0)); }) / node_count;
}

}  // namespace

/// Argument: rounds, 15 if left out.
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const Edges edges = fork_join(node_count);
  std::printf("{\"nodes\": %d, \"rounds\": [\n", node_count);
  for (int i = 0; i < rounds; ++i)
    std::printf("  {\"graph\": \"values\", \"grain_ns\": 0, \"ours_ns\": [%.1f, %.1f]}%s\n",
                node_ns(edges, 1), node_ns(edges, 2), i == rounds - 1 ? "" : ",");
  std::printf("]}\n");
}
