// Queries whose answers are kept: answered by what is there, or kept when they are computed.
#include <exception>
#include <memory>
#include <utility>

#include "frontend/frontend.hpp"
#include "scheduler/clock.hpp"

namespace engine::frontend {

/// Answers a query whose answer is there; else the flight can keep it later. Throws std::exception
/// before anything is answered.
bool Frontend::answer_kept(const Call& call, Flight& flight) {
  const std::int64_t since_ns = now_ns();
  flight.asked = std::make_unique<AskedQuery>(*flight.model, values_, flight.wanted);
  KeptAnswerPtr kept = flight.model->answers->find(flight.asked->key);
  const std::int64_t ended_ns = now_ns();
  flight.asked->looked_ns = ended_ns - since_ns;
  if (kept == nullptr) return false;
  const std::vector<ValuePtr> outputs = kept_outputs(*flight.model, kept);
  flight.kept = std::move(kept);
  flight.deadline_ns = due_ns_of(call, request_);
  if (delivered(flight, outputs)) count(flight, ended_ns, 0);
  return true;
}

/// Of a run that has ended well.
void Frontend::keep(const Flight& flight) {
  const std::int64_t since_ns = now_ns();
  FrontModel& model = *flight.model;
  try {
    keep_answer(*model.answers, *flight.asked, model, flight.wanted, flight.run->outputs());
  } catch (const std::exception&) {
    // Without memory for it: it is answered all the same.
  }
  model.counts.add(FrontCounts::cache_miss, flight.asked->looked_ns + now_ns() - since_ns);
}

}  // namespace engine::frontend
