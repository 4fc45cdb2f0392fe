// What the scheduler costs per node beside another one: two shapes, no work and 1 us of it, one
// lane and two. Rounds of all contenders in turn, as JSON: a row a round.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "graphs.hpp"
#include "peer.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/plan_builder.hpp"
#include "scheduler/run.hpp"
#include "series.hpp"

namespace {

using namespace engine;
using namespace engine::bench;

constexpr int node_count = 10'000;

/// Burns a core for a while.
class BurnKernel final : public Kernel {
 public:
  explicit BurnKernel(std::int64_t grain_ns) : grain_ns_(grain_ns) {}
  void execute(std::span<const ValuePtr>, std::span<ValuePtr>, CancelToken*) const override {
    burn(grain_ns_);
  }

 private:
  const std::int64_t grain_ns_;
};

std::shared_ptr<const Plan> plan_of(const MachineOwner& machine, const Edges& edges,
                                    std::int64_t grain_ns) {
  const auto kernel = grain_ns == 0 ? nullptr : std::make_shared<const BurnKernel>(grain_ns);
  PlanBuilder builder(machine.get());
  for (std::size_t i = 0; i < edges.size(); ++i)
    builder.add_node({.name = std::to_string(i),
                      .kernel = kernel,
                      .after = edges[i],
                      .rank = static_cast<std::int64_t>(i),
                      .service_ns = 1'000,  // as every node of a model has one
                      .kind = NodeKind::work});
  return builder.build();
}

double ours_ns(const Edges& edges, int lanes, std::int64_t grain_ns, int repeats) {
  MachineParams params;
  params.devices.push_back({.kind = "cpu", .name = "cpu", .lanes = lanes});
  MachineOwner machine(params);
  const auto plan = plan_of(machine, edges, grain_ns);
  return median_ns(repeats, [&] { static_cast<void>(machine->run(*plan, {}, {}, 0)); });
}

double peer_ns(const Edges& edges, int threads, std::int64_t grain_ns, int repeats) {
  double found_ns = 0;
  with_peer(edges, threads, grain_ns,
            [&](const std::function<void()>& run) { found_ns = median_ns(repeats, run); });
  return found_ns;
}

void round(const char* shape, const Edges& edges, std::int64_t grain_ns, bool last) {
  const int repeats = 20;
  double per_node_ns[4] = {};
  for (int lanes = 1; lanes <= 2; ++lanes) {
    per_node_ns[lanes - 1] = ours_ns(edges, lanes, grain_ns, repeats) / node_count;
    per_node_ns[lanes + 1] = peer_ns(edges, lanes, grain_ns, repeats) / node_count;
  }
  std::printf(
      "  {\"graph\": \"%s\", \"grain_ns\": %lld, \"ours_ns\": [%.1f, %.1f], "
      "\"peer_ns\": [%.1f, %.1f]}%s\n",
      shape, static_cast<long long>(grain_ns), per_node_ns[0], per_node_ns[1], per_node_ns[2],
      per_node_ns[3], last ? "" : ",");
}

}  // namespace

/// Argument: rounds, 15 if left out.
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const Edges layers = fork_join(node_count), random = random_dag(node_count);
  std::printf("{\"nodes\": %d, \"peer\": \"%s\", \"rounds\": [\n", node_count, peer_name().c_str());
  for (int i = 0; i < rounds; ++i)
    for (const std::int64_t grain_ns : {0, 1'000}) {
      round("fork-join", layers, grain_ns, false);
      round("random", random, grain_ns, i == rounds - 1 && grain_ns != 0);
    }
  std::printf("]}\n");
}
