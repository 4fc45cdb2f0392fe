// Collects nodes and values, checks them, and makes a Plan.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/machine.hpp"
#include "scheduler/plan.hpp"

namespace engine {

/// What PlanBuilder::add_node takes.
struct NodeSpec {
  std::string name;
  int device = 0;
  std::shared_ptr<const Kernel> kernel = nullptr;  ///< null: nothing to execute
  std::vector<int> inputs = {};                    ///< values; -1: an optional input left out
  std::vector<int> outputs = {};
  std::vector<int> after = {};   ///< nodes to wait for besides the makers of its inputs
  std::vector<int> awaits = {};  ///< values whose makers it waits for, too, without reading them
  int width = 1;
  std::int64_t rank = 0;  ///< planned start order: smaller starts earlier
  std::int64_t service_ns = 0;
  std::int64_t launch_ns = 0;     ///< PlanNode::launch_ns, unless captured
  std::int64_t captured_ns = -1;  ///< service time if it is captured; -1: it is not to be
  NodeKind kind = NodeKind::segment;
};

/// Not thread-safe. Every error is std::invalid_argument and names the node or value.
class PlanBuilder {
 public:
  using TokenMaker = std::unique_ptr<CancelToken> (*)();

  explicit PlanBuilder(std::shared_ptr<Machine> machine);
  ~PlanBuilder();

  int add_value(std::string name);
  int add_node(NodeSpec spec);
  /// Moves a value between the memories of two devices.
  int add_copy(std::string name, int source_device, int target_device, int source, int target,
               std::int64_t rank = 0, std::vector<int> awaits = {});
  void set_inputs(std::vector<int> values);
  void set_outputs(std::vector<int> values);
  /// Gives every run a token that stops kernels in the middle of their work.
  void set_token_maker(TokenMaker maker) { token_maker_ = maker; }
  /// Leaves the builder empty.
  [[nodiscard]] std::shared_ptr<const Plan> build();

 private:
  struct Value {
    std::string name;
    int producer = -1;
    int memory = -1;  ///< device whose memory holds it; -1: the caller's
    std::uint32_t uses = 0;
    bool is_input = false;
  };
  /// Nodes of a device, one after another.
  struct Chains {
    std::uint32_t count = 0;
    std::unordered_map<int, std::uint32_t> by_last;  ///< the chain that ends with a node
  };

  void check_node(const NodeSpec& spec) const;
  void check_value(int value, const std::string& where) const;
  [[nodiscard]] std::uint32_t first_lane(const NodeSpec& spec);
  [[nodiscard]] bool capture(Device& device, NodeSpec& spec, std::uint32_t lane);
  void claim_outputs(const NodeSpec& spec, int memory);
  int append(NodeSpec spec, const Machine::CopyRoute& route, bool is_captured = false);
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> predecessors() const;
  [[nodiscard]] std::vector<std::uint32_t> sorted(
      const std::vector<std::vector<std::uint32_t>>& predecessors) const;
  [[nodiscard]] bool has_wide_node() const;
  [[nodiscard]] bool has_timed_node() const;
  void fill_nodes(Plan& plan) const;
  void plan_times(Plan& plan) const;
  void order_nodes(Plan& plan) const;
  [[nodiscard]] std::int64_t critical_path_ns(
      const std::vector<std::uint32_t>& order,
      const std::vector<std::vector<std::uint32_t>>& predecessors) const;
  void link_nodes(Plan& plan, const std::vector<std::vector<std::uint32_t>>& predecessors) const;

  std::shared_ptr<Machine> machine_;
  TokenMaker token_maker_ = nullptr;
  std::vector<Value> values_;
  std::vector<NodeSpec> specs_;
  std::vector<Machine::CopyRoute> routes_;
  std::vector<bool> captured_;
  std::unordered_map<int, Chains> chains_;  ///< by device
  std::vector<std::pair<std::uint32_t, std::string>> uncaptured_;
  std::vector<int> inputs_, outputs_;
};

}  // namespace engine
