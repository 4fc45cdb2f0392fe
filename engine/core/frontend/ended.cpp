// What is counted and remembered of queries that have ended.
#include <optional>

#include "frontend/frontend.hpp"
#include "scheduler/clock.hpp"

namespace engine::frontend {

/// A query that was answered well.
void Frontend::count(const Flight& flight, std::int64_t ended_ns, std::int64_t waited_ns) {
  FrontCounts& counts = flight.model->counts;
  const std::int64_t answered_ns = now_ns();
  // relaxed: a number to look at
  flight.model->last_ns.store(answered_ns, std::memory_order_relaxed);
  const bool was_kept = flight.kept != nullptr;  // so nothing of it was computed
  const std::int64_t executing_ns = was_kept ? 0 : ended_ns - flight.started_ns;
  if (was_kept) {
    counts.add(FrontCounts::cache_hit, flight.asked->looked_ns);
  } else {
    counts.add(FrontCounts::compute_input, flight.started_ns - flight.received_ns);
    if (waited_ns >= 0) counts.add(FrontCounts::queue, waited_ns);
    counts.add(FrontCounts::executing, executing_ns);
    counts.add(FrontCounts::compute_output, answered_ns - ended_ns);
  }
  counts.add(FrontCounts::success, answered_ns - flight.received_ns);
  if (is_observed_.load(std::memory_order_relaxed))  // relaxed: as in observe()
    flight.model->tally->times.add(answered_ns - flight.received_ns, executing_ns, waited_ns);
  const std::int64_t due_ns = flight.run.get() != nullptr && flight.run->order().is_due()
                                  ? flight.run->order().due_ns
                                  : flight.deadline_ns;
  const bool is_late = due_ns != 0 && ended_ns > due_ns;
  if (is_late) flight.model->tally->trouble.add(Trouble::late);
  remember(flight, is_late ? std::optional(Trouble::late) : std::nullopt, ended_ns, answered_ns,
           waited_ns);
}

/// A query that was not answered well.
void Frontend::count_failure(const Flight& flight, Trouble trouble) {
  const std::int64_t ended_ns = now_ns();
  if (flight.run.get() != nullptr || flight.worker != nullptr || flight.kept != nullptr)
    flight.model->counts.add(FrontCounts::fail, ended_ns - flight.received_ns);
  flight.model->tally->trouble.add(trouble);
  remember(flight, trouble, ended_ns, ended_ns, isolation::not_known_ns);
}

/// A query that has ended, so that it can be looked at.
void Frontend::remember(const Flight& flight, std::optional<Trouble> trouble, std::int64_t ended_ns,
                        std::int64_t answered_ns, std::int64_t waited_ns) {
  if (!is_observed_.load(std::memory_order_relaxed)) return;  // relaxed: as in observe()
  const Run* const run = flight.run.get();
  recent_.add({.model = flight.model->called,
               .id = flight.id,
               .trace_parent = flight.trace_parent,
               .plan = run == nullptr ? 0 : run->plan().flown().number(),
               .arrival = run == nullptr ? 0 : run->order().arrival,
               .received_ns = flight.received_ns,
               .started_ns = flight.started_ns,
               .ended_ns = ended_ns,
               .answered_ns = answered_ns,
               .waited_ns = waited_ns,
               .trouble = trouble});
}

}  // namespace engine::frontend
