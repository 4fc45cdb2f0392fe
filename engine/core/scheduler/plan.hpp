// An immutable graph of nodes over devices, in integer indices: what a run executes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices/kernel.hpp"
#include "scheduler/admission_rules.hpp"
#include "scheduler/fair_share.hpp"
#include "scheduler/flown_plan.hpp"
#include "scheduler/mpmc_ring.hpp"
#include "scheduler/run_order.hpp"
#include "scheduler/service_times.hpp"
#include "scheduler/spin_habit.hpp"
#include "scheduler/stacking.hpp"

namespace engine {

class Machine;
class Run;
class WaitingRoom;

enum class NodeKind : std::uint8_t { segment, copy, work };

// Links of a device, by which its copies go: from the host, to it, and from each device.
inline constexpr std::uint8_t link_towards = 0, link_back = 1, first_peer_link = 2;

/// One node. Ranges index the plan's flat arrays.
struct PlanNode {
  const Kernel* kernel = nullptr;  ///< null: nothing to execute
  std::int64_t service_ns = 0;     ///< what an emulated device charges
  std::int64_t launch_ns = 0;      ///< how long its operators hold the submitting thread, too
  std::uint32_t executor = 0;      ///< index of the machine's executor that runs it
  std::uint32_t position = 0;      ///< its place in the planned start order, from 0
  std::uint32_t dependencies = 0;  ///< distinct nodes that it waits for
  std::uint32_t first_successor = 0, end_successor = 0;
  std::uint32_t first_input = 0, end_input = 0;
  std::uint32_t first_output = 0, end_output = 0;
  std::uint16_t width = 1;   ///< lanes that it occupies at once
  std::uint8_t link = 0;     ///< linked copies: over which link of the executor
  bool is_linked = false;    ///< copies: between two memories
  bool is_captured = false;  ///< submitted as one graph of operators
  NodeKind kind = NodeKind::work;
};

/// A place for a value within a run.
struct PlanSlot {
  std::uint32_t uses = 0;   ///< reads by nodes, plus one for an output of the graph
  std::uint32_t meter = 0;  ///< index of the machine's memory that holds it
};

/// Runs that take longer are long: a caller who helps with one is away for too long.
inline constexpr std::int64_t long_run_ns = 100'000'000;

/// Marks an optional input that is absent.
inline constexpr std::uint32_t no_slot = UINT32_MAX;

/// Thread-safe; immutable but for its pool of runs and what it knows of how long they last. Made by
/// PlanBuilder. Holds the machine.
class Plan : public std::enable_shared_from_this<Plan> {
 public:
  using TokenMaker = std::unique_ptr<CancelToken> (*)();

  ~Plan();

  [[nodiscard]] const PlanNode& node(std::uint32_t index) const noexcept { return nodes_[index]; }
  [[nodiscard]] std::uint32_t node_count() const noexcept {
    return static_cast<std::uint32_t>(nodes_.size());
  }
  [[nodiscard]] const std::string& node_name(std::uint32_t index) const { return names_[index]; }
  [[nodiscard]] const std::vector<std::string>& node_names() const noexcept { return names_; }
  /// Least urgent first, so that a stack of them pops the most urgent first.
  [[nodiscard]] std::span<const std::uint32_t> successors(const PlanNode& node) const noexcept {
    return std::span(successors_)
        .subspan(node.first_successor, node.end_successor - node.first_successor);
  }
  /// Whether node `index` waits for `node`. Logarithmic in the successors.
  [[nodiscard]] bool is_successor(const PlanNode& node, std::uint32_t index) const noexcept {
    const auto row = successors(node);
    const auto found = std::lower_bound(
        row.begin(), row.end(), nodes_[index].position,
        [this](std::uint32_t a, std::uint32_t position) { return nodes_[a].position > position; });
    return found != row.end() && *found == index;
  }
  [[nodiscard]] std::span<const std::uint32_t> inputs_of(const PlanNode& node) const noexcept {
    return std::span(inputs_).subspan(node.first_input, node.end_input - node.first_input);
  }
  [[nodiscard]] std::span<const std::uint32_t> outputs_of(const PlanNode& node) const noexcept {
    return std::span(outputs_).subspan(node.first_output, node.end_output - node.first_output);
  }
  /// The node at that place in the planned start order: by rank, then by number.
  [[nodiscard]] std::uint32_t node_at(std::uint32_t position) const noexcept {
    return order_[position];
  }
  [[nodiscard]] std::span<const PlanSlot> slots() const noexcept { return slots_; }
  [[nodiscard]] std::span<const std::uint32_t> graph_inputs() const noexcept { return inputs_at_; }
  [[nodiscard]] std::span<const std::uint32_t> graph_outputs() const noexcept {
    return outputs_at_;
  }
  /// What runs are given of a query's inputs: those that are outputs, too, are copied, since
  /// whoever owns the memory of an input may write to it when the query has ended.
  [[nodiscard]] std::vector<ValuePtr> own_inputs(std::span<const ValuePtr> inputs) const;
  /// Whether an output is an input.
  [[nodiscard]] bool hands_on_inputs() const noexcept { return !handed_on_.empty(); }
  /// Nodes without dependencies, most urgent first.
  [[nodiscard]] std::span<const std::uint32_t> roots() const noexcept { return roots_; }
  /// Nodes without successors: when all of them are done, every node is.
  [[nodiscard]] std::uint32_t sink_count() const noexcept { return sink_count_; }
  [[nodiscard]] Machine& machine() const noexcept { return *machine_; }
  /// The devices that it has nodes on, a bit each.
  [[nodiscard]] std::uint64_t devices() const noexcept { return devices_; }
  /// Whether any node takes more than one lane.
  [[nodiscard]] bool has_wide_nodes() const noexcept { return has_wide_nodes_; }
  /// The longest chain of planned service times: no run is shorter. 0 if nothing is predicted, or
  /// if it is a single node of a CPU.
  [[nodiscard]] std::int64_t critical_path_ns() const noexcept { return critical_path_ns_; }
  /// Nodes that were to be captured and could not, and why.
  [[nodiscard]] std::span<const std::pair<std::uint32_t, std::string>> uncaptured() const noexcept {
    return uncaptured_;
  }
  /// Whether the kernels of its runs want a CancelToken.
  [[nodiscard]] bool wants_token() const noexcept { return make_token_ != nullptr; }
  /// What makes it; null: they want none.
  [[nodiscard]] TokenMaker token_maker() const noexcept { return make_token_; }

  /// Whether a run is expected to be long: as planned, or as the last one was.
  [[nodiscard]] bool lasts_long() const noexcept {
    return lasts_long_.load(std::memory_order_relaxed);  // relaxed: a hint
  }
  /// Says what a run took.
  void note_duration(std::int64_t duration_ns) const noexcept {
    const bool is_long = duration_ns >= long_run_ns;
    // relaxed: a hint; callers share the line, which is written where they change their mind only
    if (is_long != lasts_long()) lasts_long_.store(is_long, std::memory_order_relaxed);
  }

  /// How long callers wait for its runs, other than by helping.
  [[nodiscard]] SpinHabit& waits() const noexcept { return waits_; }

  /// How long the kernels of a run may take from the first to the last; 0: no limit.
  [[nodiscard]] std::int64_t time_limit_ns() const noexcept {
    return time_limit_ns_.load(std::memory_order_relaxed);  // relaxed: a run sees it a tick later
  }
  /// For runs in flight, too. To within KernelWatch's tick.
  void limit_time(std::int64_t limit_ns) const noexcept {
    time_limit_ns_.store(limit_ns, std::memory_order_relaxed);  // relaxed: see above
  }

  /// What its runs are where they do not say it themselves.
  [[nodiscard]] Urgency urgency() const noexcept {
    // relaxed, all: runs that begin meanwhile may see some of it
    return {due_after_ns_.load(std::memory_order_relaxed),
            priority_.load(std::memory_order_relaxed),
            best_effort_.load(std::memory_order_relaxed)};
  }
  /// For runs that begin from now on.
  void be_urgent(const Urgency& urgency) const noexcept;

  /// What was recorded of its runs, and what it is called.
  [[nodiscard]] FlownPlan& flown() const noexcept { return *flown_; }
  /// What its records leave out of its nodes.
  [[nodiscard]] std::vector<FlownNode> flown_nodes() const;

  /// What its runs are refused for.
  [[nodiscard]] AdmissionRules admission() const noexcept {
    // relaxed, both: as urgency()
    return {refuses_late_.load(std::memory_order_relaxed),
            max_wait_ns_.load(std::memory_order_relaxed)};
  }
  /// For runs that begin from now on.
  void admit_by(const AdmissionRules& rules) const noexcept;
  /// What its nodes take, as planned, or as measured from be_measured() on.
  [[nodiscard]] ServiceTimes& times() const noexcept { return times_; }
  void be_measured() const noexcept {
    is_measured_.store(true, std::memory_order_relaxed);  // relaxed: nodes from now on, or soon
  }
  [[nodiscard]] bool measures(const PlanNode& node) const noexcept {
    // relaxed: as above
    return is_measured_.load(std::memory_order_relaxed) && node.kernel != nullptr &&
           (node.service_ns == 0 || node.service_ns >= ServiceTimes::worth_measuring_ns);
  }
  /// Its model's share of the lanes, its own unless it was given one.
  [[nodiscard]] FairShare& share() const noexcept { return *share_; }
  /// Before its first run.
  void share_with(std::shared_ptr<FairShare> share) const { share_ = std::move(share); }
  /// How long a run takes by itself, as measured; and at least, nearly always.
  [[nodiscard]] std::int64_t expected_ns() const noexcept {
    return longest_path_ns_ != 0 ? times_.as_measured(longest_path_ns_)
                                 : times_.work_ns() / parallelism_;
  }
  [[nodiscard]] std::int64_t least_ns() const noexcept {
    return static_cast<std::int64_t>(times_.least_part() * static_cast<double>(expected_ns()));
  }
  /// Lanes that a run takes at once, on the mean, and its longest chain of planned times.
  [[nodiscard]] int parallelism() const noexcept { return parallelism_; }
  [[nodiscard]] std::int64_t longest_path_ns() const noexcept { return longest_path_ns_; }

  /// How its runs may be answered together; null: each by itself. It lives as long as the plan.
  [[nodiscard]] const Stacking* stacking() const noexcept {
    return stacking_.load(std::memory_order_acquire);  // acquire: who sees it sees it made
  }
  /// What tells its runs from those of other plans, in queues; 0: it never was to be stacked.
  [[nodiscard]] std::uint32_t family() const noexcept {
    return family_.load(std::memory_order_relaxed);  // relaxed: a run that sees it late is alone
  }
  /// For runs that begin from now on; null: each by itself again. Throws std::invalid_argument
  /// unless the plan is a single node of one lane that executes something.
  void stack_by(std::unique_ptr<const Stacking> stacking) const;

  /// Where its runs wait before lanes get them; null: nowhere. It lives as long as the plan.
  [[nodiscard]] WaitingRoom* room() const noexcept {
    return room_.load(std::memory_order_acquire);  // acquire: who sees it sees it made
  }
  /// For runs that begin from now on.
  void wait_in(std::shared_ptr<WaitingRoom> room) const;

  /// A run from the pool, or a new one. Lock-free while the pool has one.
  [[nodiscard]] Run* take_run() const;
  /// Keeps it for the next, or frees it: a pool of some megabytes outlasts a burst of runs.
  void give_back(Run* run) const;
  /// Cancels every run in flight.
  void cancel_runs() const;
  /// Runs in flight, held by callers and pooled.
  [[nodiscard]] std::size_t run_count() const;

 private:
  friend class PlanBuilder;
  Plan();
  void make_pool();
  void be_remembered() const noexcept;

  std::shared_ptr<Machine> machine_;
  TokenMaker make_token_ = nullptr;
  std::vector<PlanNode> nodes_;
  std::vector<std::string> names_;
  std::vector<std::pair<std::uint32_t, std::string>> uncaptured_;
  std::vector<std::shared_ptr<const Kernel>> kernels_;
  std::vector<PlanSlot> slots_;
  std::vector<std::uint32_t> successors_, inputs_, outputs_;
  std::vector<std::uint32_t> order_;  ///< nodes by position
  std::vector<std::uint32_t> inputs_at_, outputs_at_, roots_;
  std::vector<std::size_t> handed_on_;  ///< which of the inputs are outputs
  std::uint32_t sink_count_ = 0;
  std::int64_t critical_path_ns_ = 0, longest_path_ns_ = 0;
  int parallelism_ = 1;
  bool has_wide_nodes_ = false;
  std::uint64_t devices_ = 0;

  mutable std::atomic<bool> lasts_long_{false};
  mutable SpinHabit waits_;
  mutable std::atomic<std::int64_t> time_limit_ns_{0};
  mutable std::atomic<std::int64_t> due_after_ns_{0};
  mutable std::atomic<int> priority_{0};
  mutable std::atomic<bool> best_effort_{false};
  mutable std::atomic<bool> is_measured_{false};
  mutable std::atomic<bool> refuses_late_{false};
  mutable std::atomic<std::int64_t> max_wait_ns_{0};
  mutable ServiceTimes times_;
  mutable std::shared_ptr<FairShare> share_ = std::make_shared<FairShare>();
  const std::shared_ptr<FlownPlan> flown_;
  mutable std::atomic<const Stacking*> stacking_{nullptr};
  mutable std::atomic<std::uint32_t> family_{0};
  mutable std::vector<std::unique_ptr<const Stacking>> stackings_;  // guarded by runs_mutex_
  mutable std::atomic<WaitingRoom*> room_{nullptr};
  mutable std::vector<std::shared_ptr<WaitingRoom>> rooms_;  // guarded by runs_mutex_
  mutable std::optional<MpmcRing<Run*>> pool_;
  mutable std::mutex runs_mutex_;  // guards runs_
  mutable std::unordered_map<Run*, std::unique_ptr<Run>> runs_;
};

}  // namespace engine
