// When a run goes, and whether it is admitted: the parts of Run that say so.
#include "scheduler/fair_share.hpp"
#include "scheduler/run.hpp"

namespace engine {

namespace {

/// The earlier of when it is due and when it is ended counts; 0: it is not due.
std::int64_t due_of(const RunOptions& options, const Urgency& usual) {
  std::int64_t due_ns = options.due_ns;
  if (due_ns == 0 && usual.due_after_ns != 0) due_ns = now_ns() + usual.due_after_ns;
  if (due_ns == 0 || (options.deadline_ns != 0 && options.deadline_ns < due_ns))
    due_ns = options.deadline_ns;
  return due_ns;
}

/// What a run of unknown length is taken for, where models share the lanes.
constexpr std::int64_t unknown_work_ns = 1'000'000;

}  // namespace

RunOrder Run::order_of(const Plan& plan, const RunOptions& options, std::uint64_t arrival) {
  const Urgency usual = plan.urgency();
  const int priority = options.priority.value_or(usual.priority);
  const bool best_effort = options.best_effort.value_or(usual.best_effort);
  const std::size_t of = share_class(priority, best_effort);
  const std::int64_t start = plan.share().next(of, plan.machine().virtual_time().now(of));
  return RunOrder::of(priority, best_effort, due_of(options, usual), arrival, start);
}

/// The same, and its model's share is charged.
RunOrder Run::take_order(std::uint64_t arrival) {
  const Urgency usual = plan_.urgency();
  const int priority = options_.priority.value_or(usual.priority);
  const bool best_effort = options_.best_effort.value_or(usual.best_effort);
  const std::int64_t due_ns = due_of(options_, usual);
  share_length_ = 0;
  if (due_ns != 0) return RunOrder::of(priority, best_effort, due_ns, arrival);
  const std::int64_t work_ns = plan_.times().work_ns();
  share_class_ = share_class(priority, best_effort);
  share_length_ = plan_.share().length(work_ns != 0 ? work_ns : unknown_work_ns);
  const std::int64_t start =
      plan_.share().take(share_class_, machine_.virtual_time().now(share_class_), share_length_);
  return RunOrder::of(priority, best_effort, 0, arrival, start);
}

void Run::refuse(const Admission::Verdict& verdict) noexcept {
  give_back_inputs();
  error_ = verdict.text();
  refused_by_ns_ = verdict.by_ns;
  outcome_.store(Outcome::refused, std::memory_order_relaxed);  // relaxed: done_ publishes it
  finish();
}

/// None of its nodes will run: neither is its model's share charged for it.
void Run::give_back_inputs() noexcept {
  if (share_length_ != 0) plan_.share().give_back(share_class_, share_length_);
  share_length_ = 0;
  for (const std::uint32_t index : plan_.graph_inputs()) {
    ValuePtr& value = slots_[index].value;
    if (value) machine_.meter(plan_.slots()[index].meter).remove(value->bytes());
    value.reset();
  }
}

void Run::turn_away(const char* why) noexcept {
  Outcome expected = Outcome::pending;
  // acq_rel: as in stop()
  if (outcome_.compare_exchange_strong(expected, Outcome::turned_away, std::memory_order_acq_rel))
    error_ = why;  // ours alone: the run cannot end before we end it
  end_unshared();
}

void Run::end_unshared() noexcept {
  give_back_inputs();
  finish();
}

void Run::drop(std::int64_t late_by_ns) noexcept {
  Outcome expected = Outcome::pending;
  // acq_rel: as in stop(). Nothing of it is being computed that could be stopped.
  if (!outcome_.compare_exchange_strong(expected, Outcome::refused, std::memory_order_acq_rel))
    return;
  // Ours alone: the run cannot end before its nodes have left the queue.
  refused_by_ns_ = late_by_ns;
  error_ = "the query was admitted, and cannot be in time any more";
}

std::int64_t Run::begin_node(std::uint32_t index, const PlanNode& node,
                             std::int64_t now_ns) noexcept {
  if (counted_ns_ == 0) return 0;
  const std::int64_t expected_ns = plan_.times().of_node(index);
  machine_.admission().begin_node(*this, node.executor, node.width, expected_ns, now_ns);
  return expected_ns;
}

void Run::end_node(const PlanNode& node, std::int64_t expected_ns, std::int64_t began_ns) noexcept {
  if (counted_ns_ == 0) return;
  machine_.admission().end_node(*this, node.executor, node.width, expected_ns, began_ns);
}

}  // namespace engine
