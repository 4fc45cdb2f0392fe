// The task graphs that the benches run, as predecessors of each node.
#pragma once

#include <cstdint>
#include <vector>

namespace engine::bench {

using Edges = std::vector<std::vector<int>>;

/// Layers of 100 independent nodes between joins.
[[nodiscard]] Edges fork_join(int nodes);
/// Each node waits for one to three of the 100 before it; the same for every call.
[[nodiscard]] Edges random_dag(int nodes);

/// Burns a core for about `grain_ns`; 0: returns at once.
void burn(std::int64_t grain_ns);

}  // namespace engine::bench
