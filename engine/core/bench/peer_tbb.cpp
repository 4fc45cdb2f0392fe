#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/version.h>

#include <memory>
#include <vector>

#include "peer.hpp"

namespace engine::bench {

namespace {

using Message = tbb::flow::continue_msg;
using Node = tbb::flow::continue_node<Message>;

/// The graph as flow graph nodes that wait for all their predecessors.
struct FlowGraph {
  FlowGraph(const Edges& edges, std::int64_t grain_ns) {
    for (const auto& before : edges) {
      nodes.push_back(
          std::make_unique<Node>(graph, [grain_ns](const Message&) { burn(grain_ns); }));
      for (const int node : before)
        tbb::flow::make_edge(*nodes[static_cast<std::size_t>(node)], *nodes.back());
      if (before.empty()) roots.push_back(nodes.back().get());
    }
  }
  void run() {
    for (Node* root : roots) root->try_put(Message());
    graph.wait_for_all();
  }

  tbb::flow::graph graph;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Node*> roots;
};

}  // namespace

std::string peer_name() { return "oneTBB " + std::string(TBB_runtime_version()); }

void with_peer(const Edges& edges, int threads, std::int64_t grain_ns,
               const std::function<void(const std::function<void()>&)>& measure) {
  const auto wanted = static_cast<std::size_t>(threads);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, wanted);
  tbb::task_arena arena(threads);
  arena.execute([&] {
    FlowGraph flow(edges, grain_ns);
    measure([&] { flow.run(); });
  });
}

}  // namespace engine::bench
