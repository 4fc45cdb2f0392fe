// One execution of a plan: counters, values, outcome. Pooled by its plan.
// Long because callers, lanes, devices, the watch and the admission see the same run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "devices/kernel.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/kernel_watch.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/parker.hpp"
#include "scheduler/plan.hpp"
#include "scheduler/ready_set.hpp"
#include "scheduler/run_options.hpp"
#include "scheduler/run_order.hpp"

namespace engine {

class Run;
class WaitingRoom;

enum class Outcome : std::uint8_t {
  pending,
  ok,
  failed,
  cancelled,
  deadline,
  refused,
  turned_away,  ///< by the rules of the room where it waited
};

/// "pending", "ok", "failed", "cancelled", "deadline", "refused" or "turned away".
[[nodiscard]] const char* to_string(Outcome outcome) noexcept;

/// When and where a node ran, on the monotonic clock; lane -1: skipped; for how many runs at once.
struct NodeSpan {
  std::int32_t lane = -1;
  std::int32_t stacked = 1;
  std::int64_t ready_ns = 0, start_ns = 0, end_ns = 0;
};

/// The values of the node that a lane executes; reused, so that nothing is allocated per node.
struct NodeValues {
  std::vector<ValuePtr> inputs, outputs;
  std::vector<std::pair<std::uint32_t, std::size_t>> released;  ///< (memory, bytes) of last uses
};

/// A counted handle; the run goes back to its plan's pool with the last one.
class RunPtr {
 public:
  RunPtr() = default;
  explicit RunPtr(Run* adopted) noexcept : run_(adopted) {}
  RunPtr(const RunPtr& other) noexcept;
  RunPtr(RunPtr&& other) noexcept : run_(std::exchange(other.run_, nullptr)) {}
  RunPtr& operator=(RunPtr other) noexcept {
    std::swap(run_, other.run_);
    return *this;
  }
  ~RunPtr();
  Run* operator->() const noexcept { return run_; }
  Run& operator*() const noexcept { return *run_; }
  [[nodiscard]] Run* get() const noexcept { return run_; }
  [[nodiscard]] Run* release() noexcept { return std::exchange(run_, nullptr); }

 private:
  Run* run_ = nullptr;
};

/// Thread-safe where not said otherwise. A run is done when every node was executed or, after
/// the first failure, cancel or passed deadline, skipped; so every run ends, and its counters
/// and slots are then as before its start: each resets when it reaches zero.
class Run final : public Watched {
 public:
  Run(const Plan& plan, std::unique_ptr<CancelToken> token);
  /// What a run of that plan holds without its values, about.
  [[nodiscard]] static std::size_t bytes_of(const Plan& plan) noexcept;
  ~Run();

  // --- for callers ---
  [[nodiscard]] bool done() const noexcept {
    return done_.load(std::memory_order_seq_cst);  // seq_cst: tested before parking (parker.hpp)
  }
  [[nodiscard]] Outcome outcome() const noexcept;
  /// The first failure; names the node. Empty unless done.
  [[nodiscard]] std::string error() const { return done() ? error_ : std::string(); }
  /// Of one that was refused: by how much it would have been late, or have waited too long.
  [[nodiscard]] std::int64_t refused_by_ns() const noexcept { return done() ? refused_by_ns_ : 0; }
  /// Node of the first failure, or -1.
  [[nodiscard]] int error_node() const noexcept { return done() ? error_node_ : -1; }
  /// The number that the kernel's library gives it (StatusError), or 0.
  [[nodiscard]] int error_code() const noexcept { return done() ? error_code_ : 0; }
  [[nodiscard]] std::int64_t tag() const noexcept { return options_.tag; }
  /// Executes nodes, its own and others' that are predicted to end before it does, until it is
  /// done, or this would wait beyond `until_ns`. Whether it is done; returns at once where nobody
  /// may help.
  bool help(std::int64_t until_ns);
  /// Blocks until done or `deadline_ns` (0: no limit). With `help` and without a limit it
  /// executes nodes meanwhile: its own, and others' that are predicted to end before it does.
  bool wait(std::int64_t deadline_ns, bool help);
  /// Ends the run soon; never blocks.
  void cancel() noexcept { stop(Outcome::cancelled); }
  /// The outputs of a run that ended well, else nulls. Once done.
  [[nodiscard]] std::vector<ValuePtr> outputs() const;
  /// One per node if traced, once done.
  [[nodiscard]] std::span<const NodeSpan> spans() const noexcept { return spans_; }
  [[nodiscard]] std::int64_t submitted_ns() const noexcept { return traced() ? begun_ns_ : 0; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }

  // --- for the machine and devices ---
  /// Prepares a pooled run; returns with two references: the caller's and the flight's.
  void begin(std::span<const ValuePtr> inputs, RunOptions options, std::uint64_t arrival);
  /// Where it would go among the runs of its machine if it was begun now.
  [[nodiscard]] static RunOrder order_of(const Plan& plan, const RunOptions& options,
                                         std::uint64_t arrival);
  /// Ends a run that was begun and not shared.
  void refuse(const Admission::Verdict& verdict) noexcept;
  /// Above all numbers of plans (Plan::family).
  static constexpr std::uint32_t first_call = 1U << 31;

  /// Ends a run that waits in a room, or was to; nobody else knows its nodes.
  void turn_away(const char* why) noexcept;
  /// The same, of one that was stopped.
  void end_unshared() noexcept;
  /// It waits there from now on; before it is shared.
  void wait_in(WaitingRoom* room) noexcept { room_ = room; }
  /// It is let out of its room, as part of that call.
  void be_of_call(std::uint32_t call) noexcept { call_ = call; }
  /// Further runs of its call, whose nodes are in no queue: who takes its node takes these. Before
  /// it is shared, in their order.
  void lead(std::span<Run* const> followers) noexcept {
    Run* last = this;
    for (Run* const run : followers) last = last->next_of_call_ = run;
  }
  /// The next one of its call, once; null: there is none.
  [[nodiscard]] Run* take_next_of_call() noexcept { return std::exchange(next_of_call_, nullptr); }
  /// 0: it is of none.
  [[nodiscard]] std::uint32_t call() const noexcept { return call_; }
  /// Which runs it may be answered with: those of its call, or of its plan.
  [[nodiscard]] std::uint32_t family() const noexcept {
    return call_ != 0 ? call_ : plan_.family();
  }
  /// What its caller has said.
  [[nodiscard]] std::optional<int> asked_priority() const noexcept { return options_.priority; }
  /// It goes behind those that may be in time; before it is shared.
  void come_late() noexcept { order_ = order_.late(); }
  /// It counts for the admission of others, as so much work; before it is shared.
  void count(std::int64_t work_ns, Promise promise) noexcept {
    counted_ns_ = work_ns;
    promise_ = promise;
  }
  [[nodiscard]] std::int64_t counted_ns() const noexcept { return counted_ns_; }
  [[nodiscard]] bool is_promised() const noexcept { return promise_ != Promise::none; }
  [[nodiscard]] Promise promise() const noexcept { return promise_; }
  [[nodiscard]] bool ended_well() const noexcept {
    return outcome_.load(std::memory_order_relaxed) == Outcome::ok;  // relaxed: it is ending
  }
  /// For who computes a node that is measured; returns the lanes' time that it is expected to take.
  [[nodiscard]] std::int64_t begin_node(std::uint32_t index, const PlanNode& node,
                                        std::int64_t now_ns) noexcept;
  void end_node(const PlanNode& node, std::int64_t expected_ns, std::int64_t began_ns) noexcept;
  /// Ends a promised run that cannot be in time any more, by who holds its ready nodes in a queue:
  /// they are skipped.
  void drop(std::int64_t late_by_ns) noexcept;
  /// Ends a run without nodes left; called by the last sink, or by submit for an empty plan.
  void finish() noexcept;
  void add_reference() noexcept {
    references_.fetch_add(handle, std::memory_order_relaxed);  // relaxed: we already hold one
  }
  void drop_reference() noexcept;
  /// Keeps a run in flight from being reused, by who holds a ready node of it, until unpin().
  void pin() noexcept {
    references_.fetch_add(1, std::memory_order_relaxed);  // relaxed: it is in flight
  }
  void unpin() noexcept;

  /// Whether nodes are to be skipped; ends the run if its deadline passed.
  [[nodiscard]] bool should_skip() noexcept {
    // relaxed: a lane that sees the end late executes one node in vain
    if (outcome_.load(std::memory_order_relaxed) != Outcome::pending) return true;
    if (options_.deadline_ns == 0 && !machine_.closing()) return false;
    return check_limits();
  }
  [[nodiscard]] bool stopped() const noexcept {
    // relaxed: as in should_skip()
    return outcome_.load(std::memory_order_relaxed) != Outcome::pending;
  }
  /// Ends the run if its deadline has passed, or if its kernels have run for the plan's limit.
  /// Returns whether it has ended, by this or otherwise.
  bool look(std::int64_t now_ns) noexcept override;
  void hold(std::uint32_t node) noexcept override;
  void let_go(std::uint32_t node) noexcept override;
  /// From now on a signal ends it: who handles signals is about to compute. SignalHook::remove()
  /// once it has ended.
  void hear_signals() noexcept {
    hears_signals_.store(true, std::memory_order_relaxed);  // relaxed: a later look sees it
  }
  /// First one wins; later ones have no effect. For lanes that execute a node of this run.
  void fail(std::uint32_t node, const std::string& what, int code = 0) noexcept;

  /// Moves or copies the node's inputs out of their slots. Once per node, executed or skipped.
  void take_inputs(const PlanNode& node, NodeValues& values);
  /// Executes the kernel; false if it failed (the run then has, too).
  bool compute(std::uint32_t index, const PlanNode& node, NodeValues& values) noexcept;
  /// Puts the outputs into their slots, then lets the inputs go.
  void publish(std::uint32_t index, const PlanNode& node, NodeValues& values) noexcept;

  /// On the monotonic clock; 0: none.
  [[nodiscard]] std::int64_t deadline_ns() const noexcept { return options_.deadline_ns; }
  /// When it came; of a run that is neither traced nor predicted 0.
  [[nodiscard]] std::int64_t begun_ns() const noexcept { return begun_ns_; }
  /// Among the runs of the machine.
  [[nodiscard]] const RunOrder& order() const noexcept { return order_; }
  /// Its ready nodes in that executor's queue, by position; guarded by the queue.
  [[nodiscard]] ReadySet& ready(std::uint32_t executor) noexcept { return ready_[executor]; }
  [[nodiscard]] bool traced() const noexcept { return options_.traced; }
  void trace_ready(std::uint32_t node, std::int64_t ready_ns) noexcept {
    spans_[node].ready_ns = ready_ns;
  }
  [[nodiscard]] bool is_recorded() const noexcept { return is_recorded_; }
  /// Whether somebody wants to know when its nodes run: who traces it, or the machine's recorder.
  [[nodiscard]] bool is_timed() const noexcept { return is_timed_; }
  /// Tells them when and where a node did; lane -1: it was skipped. Before the node is completed.
  /// `ring` is the lane's, if it has one of its own; `stacked`: queries that it answered together.
  void trace(std::uint32_t node, int lane, std::int64_t start_ns, std::int64_t end_ns,
             NodeRing* ring = nullptr, int stacked = 1) noexcept;
  /// Tells the recorder, if it wants to know, that a lane waited for another process before one of
  /// its nodes began.
  void record_wait(int lane, const std::string& process, std::int64_t start_ns, std::int64_t end_ns,
                   NodeRing& ring) const;
  /// Where callers park who execute nodes of it meanwhile; notified when it is done.
  [[nodiscard]] EventCount& helpers() noexcept { return helpers_; }
  /// Whether it is predicted to take longer than `duration_ns` from now.
  [[nodiscard]] bool outlasts(std::int64_t duration_ns) const noexcept {
    return duration_ns < plan_.critical_path_ns() &&
           now_ns() + duration_ns < begun_ns_ + plan_.critical_path_ns();
  }

  /// Predecessors of a node that is not ready which have not ended; others may end meanwhile.
  [[nodiscard]] std::uint32_t unfinished(std::uint32_t node) const noexcept {
    return waiting_[node].load(std::memory_order_acquire);  // acquire: as in arrive()
  }
  /// Appends a ready node's inputs; null where one is absent.
  void look_at_inputs(const PlanNode& node, std::vector<const Value*>& inputs) const {
    for (const std::uint32_t index : plan_.inputs_of(node))
      inputs.push_back(index == no_slot ? nullptr : slots_[index].value.get());
  }
  /// Bytes of a ready node's first input.
  [[nodiscard]] std::size_t input_bytes(std::uint32_t node) const noexcept {
    const auto inputs = plan_.inputs_of(plan_.node(node));
    const bool has_input = !inputs.empty() && inputs[0] != no_slot && slots_[inputs[0]].value;
    return has_input ? slots_[inputs[0]].value->bytes() : 0;
  }

  /// Counts the node as done and calls `ready(index, node)` for each successor that waited for
  /// it alone. The run may be gone afterwards, unless the caller holds a ready node of it.
  template <typename Ready>
  void complete(const PlanNode& node, Ready&& ready) {
    const auto successors = plan_.successors(node);
    if (successors.empty()) return sink_done();
    for (const std::uint32_t index : successors) {
      const PlanNode& next = plan_.node(index);
      if (next.dependencies == 1 || arrive(index, next)) ready(index, next);
    }
  }

  /// The same towards the successors that `select(next)` names, for a device on which these may
  /// start earlier than the others. Each successor once in all; never for a node without any.
  template <typename Select, typename Ready>
  void complete_towards(const PlanNode& node, Select&& select, Ready&& ready) {
    for (const std::uint32_t index : plan_.successors(node)) {
      const PlanNode& next = plan_.node(index);
      if (!select(next)) continue;
      if (next.dependencies == 1 || arrive(index, next)) ready(index, next);
    }
  }

 private:
  static constexpr std::uint32_t handle = 1U << 16;

  [[nodiscard]] RunOrder take_order(std::uint64_t arrival);

  struct Slot {
    ValuePtr value;
    std::atomic<std::uint32_t> uses{0};
  };

  [[nodiscard]] bool arrive(std::uint32_t index, const PlanNode& node) noexcept {
    std::atomic<std::uint32_t>& waiting = waiting_[index];
    // acquire: the last to arrive may see all predecessors' writes without a locked operation
    if (waiting.load(std::memory_order_acquire) != 1 &&
        // acq_rel: releases our outputs to the last one, acquires the others' if we are it
        waiting.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return false;
    // relaxed: ready for the next run, which begins after this one has ended
    waiting.store(node.dependencies, std::memory_order_relaxed);
    return true;
  }
  void sink_done() noexcept {
    // acq_rel: the last sink sees all others' writes
    if (plan_.sink_count() == 1 || sinks_left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      finish();
  }
  [[nodiscard]] bool has_pressing_limit() const noexcept {
    const std::int64_t limit_ns = plan_.time_limit_ns();
    // A signal is heard from the watch's first look on; relaxed: see hear_signals().
    return options_.deadline_ns != 0 || hears_signals_.load(std::memory_order_relaxed) ||
           (limit_ns != 0 && limit_ns < KernelWatch::long_limit_ns);
  }
  bool stop(Outcome outcome) noexcept;
  void record_end() const noexcept;
  bool check_limits() noexcept;
  void end_if_due(std::int64_t now_ns) noexcept;
  void give_back_inputs() noexcept;
  void release_outputs() noexcept;
  void recycle() noexcept;

  const Plan& plan_;
  Machine& machine_;
  const std::unique_ptr<CancelToken> token_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]> waiting_;  ///< per node
  const std::unique_ptr<Slot[]> slots_;
  const std::unique_ptr<ReadySet[]> ready_;  ///< per executor
  std::shared_ptr<const Plan> keeps_plan_;
  std::vector<NodeSpan> spans_;
  RunOptions options_;
  std::int64_t begun_ns_ = 0;  ///< if it is timed or predicted
  bool is_timed_ = false;
  bool is_recorded_ = false;
  RunOrder order_;
  std::size_t share_class_ = 0;
  std::int64_t share_length_ = 0;  ///< in virtual time; 0: it is due
  std::int64_t counted_ns_ = 0;    ///< for the admission of others; 0: it does not
  Promise promise_ = Promise::none;
  WaitingRoom* room_ = nullptr;  ///< its plan has it
  std::uint32_t call_ = 0;
  Run* next_of_call_ = nullptr;
  std::int64_t refused_by_ns_ = 0;
  std::string error_;
  int error_node_ = -1;
  int error_code_ = 0;
  std::atomic<bool> hears_signals_{false};
  std::atomic<std::int64_t> watched_since_ns_{0};  ///< when the watch first saw it; 0: not yet
  EventCount event_;                               ///< of waiters that only wait
  EventCount helpers_;                             ///< of those that help
  std::atomic<bool> done_{false};
  std::atomic<Outcome> outcome_{Outcome::ok};
  /// `handle` per handle; one while in flight, and one per pin.
  std::atomic<std::uint32_t> references_{0};
  alignas(64) std::atomic<std::uint32_t> sinks_left_{0};

  friend class CompletionQueue;
  Run* next_completed_ = nullptr;
};

/// For who makes nodes of a run ready, which may end once these are shared: keeps it until its
/// parked helpers, if it has any by then, were woken.
class ParkedHelpers {
 public:
  /// Before the nodes are shared; null: for nodes that helpers do not take.
  explicit ParkedHelpers(Run* run) noexcept
      : run_(run != nullptr && run->helpers().has_waiters() ? run : nullptr) {
    if (run_ != nullptr) run_->pin();
  }
  ParkedHelpers(const ParkedHelpers&) = delete;
  ParkedHelpers& operator=(const ParkedHelpers&) = delete;
  ~ParkedHelpers() {
    if (run_ != nullptr) run_->unpin();
  }
  /// Has up to `count` of them on their way; returns how many are.
  int wake(int count) noexcept {
    if (run_ == nullptr) return 0;
    const int arriving = std::max(run_->helpers().arriving(), 0);
    return arriving >= count ? arriving : arriving + run_->helpers().notify(count - arriving);
  }

 private:
  Run* const run_;
};

inline RunPtr::RunPtr(const RunPtr& other) noexcept : run_(other.run_) {
  if (run_ != nullptr) run_->add_reference();
}
inline RunPtr::~RunPtr() {
  if (run_ != nullptr) run_->drop_reference();
}

}  // namespace engine
