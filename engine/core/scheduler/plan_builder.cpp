// Long because all that can be wrong with a plan is found before any of it is built.
#include "scheduler/plan_builder.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "scheduler/run.hpp"

namespace engine {

namespace {

/// Passes its inputs on: a copy within one memory, or one that a copy engine charges.
class PassKernel final : public Kernel {
 public:
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken*) const override {
    std::copy(inputs.begin(), inputs.end(), outputs.begin());
  }
};

/// An hour: longer ones count as that, so that no sum overflows.
constexpr std::int64_t longest_node_ns = 3'600'000'000'000;
constexpr std::int64_t most_parallel = 1024;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

std::string quoted(const std::string& kind, const std::string& name) {
  return kind + " '" + name + "'";
}

}  // namespace

PlanBuilder::PlanBuilder(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}

PlanBuilder::~PlanBuilder() = default;

int PlanBuilder::add_value(std::string name) {
  values_.push_back(Value{.name = std::move(name)});
  return static_cast<int>(values_.size()) - 1;
}

int PlanBuilder::add_node(NodeSpec spec) {
  check_node(spec);
  Device& device = machine_->device(spec.device);
  claim_outputs(spec, spec.device);
  const std::uint32_t lane = first_lane(spec);
  if (spec.kernel) spec.kernel = device.prepare(std::move(spec.kernel), lane);
  const bool is_captured = spec.captured_ns >= 0 && capture(device, spec, lane);
  const auto executor = static_cast<std::uint32_t>(spec.device);
  return append(std::move(spec), {.executor = executor}, is_captured);
}

/// The lane on which the node is opened: that of a node before it, if it is the first to go on
/// there, so that those that may run at a time have different ones.
std::uint32_t PlanBuilder::first_lane(const NodeSpec& spec) {
  Chains& chains = chains_[spec.device];
  std::uint32_t chain = chains.count;
  for (const int value : spec.inputs) {
    const int before = value < 0 ? -1 : values_[static_cast<std::size_t>(value)].producer;
    const auto end = chains.by_last.find(before);
    if (end == chains.by_last.end()) continue;
    chain = end->second;
    chains.by_last.erase(end);
    break;
  }
  if (chain == chains.count) ++chains.count;
  chains.by_last.emplace(static_cast<int>(specs_.size()), chain);
  return chain % static_cast<std::uint32_t>(machine_->device(spec.device).lanes());
}

/// Makes the node one graph of its operators; false, and a note of why, if that cannot be.
bool PlanBuilder::capture(Device& device, NodeSpec& spec, std::uint32_t lane) {
  try {
    spec.kernel = device.capture(spec.kernel, lane);  // a copy: kept if it throws
  } catch (const std::runtime_error& error) {
    uncaptured_.emplace_back(static_cast<std::uint32_t>(specs_.size()), error.what());
    return false;
  }
  spec.service_ns = spec.captured_ns;
  spec.launch_ns = 0;
  return true;
}

int PlanBuilder::add_copy(std::string name, int source_device, int target_device, int source,
                          int target, std::int64_t rank, std::vector<int> awaits) {
  NodeSpec spec{.name = std::move(name),
                .device = source_device,
                .inputs = {source},
                .outputs = {target},
                .awaits = std::move(awaits),
                .rank = rank,
                .kind = NodeKind::copy};
  check_node(spec);
  spec.device = target_device;
  check_node(spec);
  claim_outputs(spec, target_device);
  spec.kernel = std::make_shared<PassKernel>();
  const Machine::CopyRoute route = machine_->copy_route(source_device, target_device);
  if (!route.is_linked)
    spec.kernel = machine_->device(target_device).prepare(std::move(spec.kernel), 0);
  return append(std::move(spec), route);
}

void PlanBuilder::set_inputs(std::vector<int> values) {
  for (const int value : values) {
    check_value(value, "inputs of the plan");
    Value& entry = values_[static_cast<std::size_t>(value)];
    if (entry.producer >= 0 || entry.is_input)
      refuse(quoted("value", entry.name) + " is written twice: it is an input of the plan too");
    entry.is_input = true;
  }
  inputs_ = std::move(values);
}

void PlanBuilder::set_outputs(std::vector<int> values) {
  for (const int value : values) {
    check_value(value, "outputs of the plan");
    ++values_[static_cast<std::size_t>(value)].uses;
  }
  outputs_ = std::move(values);
}

void PlanBuilder::check_node(const NodeSpec& spec) const {
  const std::string where = quoted("node", spec.name);
  if (spec.device < 0 || spec.device >= machine_->device_count())
    refuse(where + ": device " + std::to_string(spec.device) + " is unknown, the machine has " +
           std::to_string(machine_->device_count()));
  const int lanes = machine_->device(spec.device).lanes();
  if (spec.width < 1 || spec.width > lanes)
    refuse(where + ": width " + std::to_string(spec.width) + " must be 1 to " +
           std::to_string(lanes) + ", the lanes of its device");
  if (spec.service_ns < 0 || spec.launch_ns < 0)
    refuse(where + ": service_ns and launch_ns must be >= 0");
  for (const int value : spec.inputs)
    if (value != -1) check_value(value, where);
  for (const int value : spec.outputs) check_value(value, where);
  for (const int value : spec.awaits) check_value(value, where);
}

void PlanBuilder::check_value(int value, const std::string& where) const {
  if (value < 0 || static_cast<std::size_t>(value) >= values_.size())
    refuse(where + ": value " + std::to_string(value) + " is unknown, there are " +
           std::to_string(values_.size()));
}

void PlanBuilder::claim_outputs(const NodeSpec& spec, int memory) {
  for (const int index : spec.outputs) {
    Value& value = values_[static_cast<std::size_t>(index)];
    if (value.producer >= 0 || value.is_input)
      refuse(quoted("node", spec.name) + ": " + quoted("value", value.name) + " is written twice");
    value.producer = static_cast<int>(specs_.size());
    value.memory = memory;
  }
}

int PlanBuilder::append(NodeSpec spec, const Machine::CopyRoute& route, bool is_captured) {
  for (const int value : spec.inputs)
    if (value >= 0) ++values_[static_cast<std::size_t>(value)].uses;
  specs_.push_back(std::move(spec));
  routes_.push_back(route);
  captured_.push_back(is_captured);
  return static_cast<int>(specs_.size()) - 1;
}

std::shared_ptr<const Plan> PlanBuilder::build() {
  const auto before = predecessors();
  const auto order = sorted(before);
  std::shared_ptr<Plan> plan(new Plan());
  plan->machine_ = machine_;
  plan->make_token_ = token_maker_;
  plan->uncaptured_ = uncaptured_;
  const auto host = static_cast<std::uint32_t>(machine_->device_count());
  for (const Value& value : values_)
    plan->slots_.push_back(
        {value.uses, value.memory < 0 ? host : static_cast<std::uint32_t>(value.memory)});
  plan->inputs_at_.assign(inputs_.begin(), inputs_.end());
  plan->outputs_at_.assign(outputs_.begin(), outputs_.end());
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (std::ranges::find(outputs_, inputs_[i]) != outputs_.end()) plan->handed_on_.push_back(i);
  fill_nodes(*plan);
  order_nodes(*plan);
  link_nodes(*plan, before);
  // Nobody helps others while he waits for a single node of a CPU: he computes it himself.
  plan->longest_path_ns_ = critical_path_ns(order, before);
  if (specs_.size() > 1 || has_timed_node()) plan->critical_path_ns_ = plan->longest_path_ns_;
  plan_times(*plan);
  plan->make_pool();
  plan->has_wide_nodes_ = has_wide_node();
  *this = PlanBuilder(machine_);
  machine_->adopt(plan);
  return plan;
}

std::vector<std::vector<std::uint32_t>> PlanBuilder::predecessors() const {
  std::vector<std::vector<std::uint32_t>> rows(specs_.size());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const std::string where = quoted("node", specs_[i].name);
    for (const int node : specs_[i].after) {
      if (node < 0 || static_cast<std::size_t>(node) >= specs_.size())
        refuse(where + ": waits for node " + std::to_string(node) + ", which is unknown");
      rows[i].push_back(static_cast<std::uint32_t>(node));
    }
    const auto wait_for = [&](int index) {
      if (index < 0) return;
      const Value& value = values_[static_cast<std::size_t>(index)];
      if (value.producer < 0 && !value.is_input)
        refuse(where + ": " + quoted("value", value.name) + " is never written");
      if (value.producer >= 0) rows[i].push_back(static_cast<std::uint32_t>(value.producer));
    };
    std::ranges::for_each(specs_[i].inputs, wait_for);
    std::ranges::for_each(specs_[i].awaits, wait_for);
    std::sort(rows[i].begin(), rows[i].end());
    rows[i].erase(std::unique(rows[i].begin(), rows[i].end()), rows[i].end());
  }
  for (const int index : outputs_) {
    const Value& value = values_[static_cast<std::size_t>(index)];
    if (value.producer < 0 && !value.is_input)
      refuse(quoted("value", value.name) + " is an output of the plan but never written");
  }
  return rows;
}

/// Every node behind its predecessors.
std::vector<std::uint32_t> PlanBuilder::sorted(
    const std::vector<std::vector<std::uint32_t>>& predecessors) const {
  std::vector<std::vector<std::uint32_t>> successors(predecessors.size());
  std::vector<std::size_t> waiting(predecessors.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < predecessors.size(); ++i) {
    waiting[i] = predecessors[i].size();
    if (waiting[i] == 0) ready.push_back(i);
    for (const std::uint32_t node : predecessors[i]) successors[node].push_back(i);
  }
  for (std::size_t done = 0; done < ready.size(); ++done)
    for (const std::uint32_t next : successors[ready[done]])
      if (--waiting[next] == 0) ready.push_back(next);
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] != 0) refuse(quoted("node", specs_[i].name) + " lies on or behind a cycle");
  return ready;
}

std::int64_t PlanBuilder::critical_path_ns(
    const std::vector<std::uint32_t>& order,
    const std::vector<std::vector<std::uint32_t>>& predecessors) const {
  std::vector<std::int64_t> end_ns(specs_.size());
  std::int64_t longest_ns = 0;
  for (const std::uint32_t i : order) {
    std::int64_t start_ns = 0;
    for (const std::uint32_t node : predecessors[i]) start_ns = std::max(start_ns, end_ns[node]);
    end_ns[i] = start_ns + std::min(specs_[i].service_ns, longest_node_ns);
    longest_ns = std::max(longest_ns, end_ns[i]);
  }
  return longest_ns;
}

bool PlanBuilder::has_wide_node() const {
  return std::ranges::any_of(specs_, [](const NodeSpec& spec) { return spec.width > 1; });
}

bool PlanBuilder::has_timed_node() const {
  return std::ranges::any_of(routes_, [this](const Machine::CopyRoute& route) {
    return machine_->executor(route.executor).is_timed();
  });
}

void PlanBuilder::fill_nodes(Plan& plan) const {
  plan.nodes_.resize(specs_.size());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const NodeSpec& spec = specs_[i];
    PlanNode& node = plan.nodes_[i];
    node.kernel = spec.kernel.get();
    node.service_ns = spec.service_ns;
    node.launch_ns = spec.launch_ns;
    node.executor = routes_[i].executor;
    plan.devices_ |= std::uint64_t{1} << node.executor;
    node.width = static_cast<std::uint16_t>(spec.width);
    node.link = routes_[i].link;
    node.is_linked = routes_[i].is_linked;
    node.is_captured = captured_[i];
    node.kind = spec.kind;
    node.first_input = static_cast<std::uint32_t>(plan.inputs_.size());
    // -1 becomes no_slot
    for (const int value : spec.inputs) plan.inputs_.push_back(static_cast<std::uint32_t>(value));
    node.end_input = static_cast<std::uint32_t>(plan.inputs_.size());
    node.first_output = static_cast<std::uint32_t>(plan.outputs_.size());
    plan.outputs_.insert(plan.outputs_.end(), spec.outputs.begin(), spec.outputs.end());
    node.end_output = static_cast<std::uint32_t>(plan.outputs_.size());
    plan.names_.push_back(spec.name);
    plan.kernels_.push_back(spec.kernel);
  }
  plan.note_duration(std::transform_reduce(
      specs_.begin(), specs_.end(), std::int64_t{0}, std::plus<>(),
      [](const NodeSpec& spec) { return std::min(spec.service_ns, long_run_ns); }));
}

void PlanBuilder::plan_times(Plan& plan) const {
  int widest = 1;
  for (const PlanNode& node : plan.nodes_) {
    plan.times_.plan_node(node.executor, node.width, std::min(node.service_ns, longest_node_ns));
    widest = std::max<int>(widest, node.width);
  }
  const std::int64_t path_ns = plan.longest_path_ns_;
  plan.parallelism_ = path_ns == 0
                          ? widest
                          : static_cast<int>(std::min<std::int64_t>(
                                (plan.times_.work_ns() + path_ns / 2) / path_ns, most_parallel));
  plan.parallelism_ = std::max(plan.parallelism_, 1);
}

void PlanBuilder::order_nodes(Plan& plan) const {
  plan.order_.resize(specs_.size());
  std::iota(plan.order_.begin(), plan.order_.end(), 0U);
  std::stable_sort(
      plan.order_.begin(), plan.order_.end(),
      [this](std::uint32_t a, std::uint32_t b) { return specs_[a].rank < specs_[b].rank; });
  for (std::uint32_t i = 0; i < plan.order_.size(); ++i) plan.nodes_[plan.order_[i]].position = i;
}

void PlanBuilder::link_nodes(Plan& plan,
                             const std::vector<std::vector<std::uint32_t>>& predecessors) const {
  const auto earlier = [&plan](std::uint32_t a, std::uint32_t b) {
    return plan.nodes_[a].position < plan.nodes_[b].position;
  };
  std::vector<std::vector<std::uint32_t>> successors(specs_.size());
  for (std::uint32_t i = 0; i < specs_.size(); ++i) {
    plan.nodes_[i].dependencies = static_cast<std::uint32_t>(predecessors[i].size());
    if (predecessors[i].empty()) plan.roots_.push_back(i);
    for (const std::uint32_t node : predecessors[i]) successors[node].push_back(i);
  }
  std::sort(plan.roots_.begin(), plan.roots_.end(), earlier);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    std::sort(successors[i].rbegin(), successors[i].rend(), earlier);
    plan.nodes_[i].first_successor = static_cast<std::uint32_t>(plan.successors_.size());
    plan.successors_.insert(plan.successors_.end(), successors[i].begin(), successors[i].end());
    plan.nodes_[i].end_successor = static_cast<std::uint32_t>(plan.successors_.size());
    if (successors[i].empty()) ++plan.sink_count_;
  }
}

}  // namespace engine
