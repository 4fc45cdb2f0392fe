// Queries that another process answers (isolation/worker_link.hpp): sent on as they came.
#include <algorithm>
#include <memory>
#include <vector>

#include "frontend/frontend.hpp"
#include "scheduler/clock.hpp"

namespace engine::frontend {

namespace {

/// A worker says itself that a query is late; one that does not is waited for that much longer.
constexpr std::int64_t patience_ns = 1'000'000'000;

bool is_in_region(const InferRequest& request) noexcept {
  for (const GivenInput& input : request.inputs)
    if (!input.part.region.empty()) return true;
  for (const WantedOutput& output : request.outputs)
    if (!output.part.region.empty()) return true;
  return false;
}

}  // namespace

void Frontend::add_worker(std::shared_ptr<isolation::QueryLink> worker) {
  new_workers_.put(std::move(worker));
}

void Frontend::take_workers() {
  for (std::shared_ptr<isolation::QueryLink>& worker : new_workers_.take()) {
    const bool is_known =
        std::ranges::any_of(workers_, [&](const auto& other) { return other.second == worker; });
    if (is_known || worker->is_gone()) continue;
    watch_worker(*worker, ++last_worker_);
    workers_.emplace(last_worker_, std::move(worker));
  }
}

void Frontend::pump(std::uint64_t number) {
  const auto found = workers_.find(number);
  if (found == workers_.end()) return;
  const std::shared_ptr<isolation::QueryLink> worker = found->second;
  if (worker->pump()) return;
  workers_.erase(found);
  forget_worker(*worker);
}

/// False, and nothing done, where Python has to answer: regions of shared memory are known to this
/// process alone; where there is no worker it says why.
bool Frontend::forward(Call& call, FrontModelPtr model, const Message& message, std::uint64_t item,
                       const isolation::RestAsked* rest) {
  if (is_in_region(request_)) return false;
  const bool in_stream = call.method == Method::stream_infer;
  const std::int64_t since_ns = now_ns();
  Flight flight{.worker = model->worker,
                .deadline_ns = due_ns_of(call, request_),
                .token = call.token,
                .item = item,
                .in_stream = in_stream,
                .model = std::move(model),
                .id = std::string(request_.id),
                .trace_parent = call.trace_parent,
                .received_ns = in_stream ? since_ns : call.received_ns,
                .started_ns = since_ns};
  if (turn_away(flight)) return true;
  const std::int64_t tag = ++last_tag_;
  // Not owned: this object leaves no query behind (cancel_all()).
  std::shared_ptr<AnswerSink> sink(std::shared_ptr<void>(), static_cast<AnswerSink*>(this));
  const auto sent =
      flight.worker->submit({.content = message.content(),
                             .owner = message.memory,
                             .deadline_ns = flight.deadline_ns,
                             .trace_parent = flight.trace_parent,
                             .rest = rest},
                            std::move(sink), static_cast<std::uint64_t>(tag), flight.worker_tag);
  if (sent == isolation::QueryLink::Sent::gone) return false;
  if (sent == isolation::QueryLink::Sent::no_room) {
    fail(flight, Status::resource_exhausted, Trouble::memory,
         "the server's memory limit was reached; ask again");
    return true;
  }
  enter(call, tag, std::move(flight));
  return true;
}

void Frontend::on_answer(std::uint64_t number, const isolation::WorkerAnswer& answer) {
  const auto tag = static_cast<std::int64_t>(number);
  if (!flights_.contains(tag)) return;
  const Flight flight = leave(tag);
  const std::int64_t ended_ns = now_ns();
  const auto status = static_cast<Status>(answer.status);
  const Place place = find(flight.token);
  if (place.call != nullptr) std::erase(place.call->flights, tag);
  if (answer.http_status != 0) return pass_on(flight, answer);
  if (status != Status::ok) {
    if (answer.refusal == isolation::Refusal::late)
      flight.model->counts.add(FrontCounts::refused, ended_ns - flight.received_ns);
    return fail(flight, status, trouble_of(status, answer.refusal),
                std::string(text_of(answer.content)));
  }
  if (place.call != nullptr) {
    try {
      std::vector<OutPart> parts = forwarded_parts(answer.content, answer.owner, flight.in_stream);
      if (flight.in_stream) {
        finish_item(place, flight.item, std::move(parts));
      } else {
        place.call->waited_ns = answer.waited_ns;
        place.call->send(std::move(parts));
        place.call->end(Status::ok);
        place.connection->go_on(*place.call);
        touch(*place.connection);
      }
    } catch (const DeliveryError& error) {
      return fail(flight, error.status(), Trouble::input, error.what());
    }
  }
  count(flight, ended_ns, answer.waited_ns);
}

/// Queries whose worker does not say that they are late.
void Frontend::end_late(std::int64_t now_ns) {
  std::vector<std::int64_t> late;
  for (const auto& [tag, flight] : flights_)
    if (flight.worker != nullptr && flight.deadline_ns != 0 &&
        now_ns - flight.deadline_ns > patience_ns)
      late.push_back(tag);
  for (const std::int64_t tag : late) {
    const Flight flight = leave(tag);
    flight.worker->cancel(flight.worker_tag);
    if (const Place place = find(flight.token); place.call != nullptr)
      std::erase(place.call->flights, tag);
    fail(flight, Status::deadline_exceeded, Trouble::deadline,
         "the query's deadline passed before it finished");
  }
}

/// Runs say themselves that they were cancelled; workers are not waited for.
void Frontend::cancel_all() {
  std::vector<std::int64_t> forwarded;
  for (const auto& [tag, flight] : flights_) {
    if (flight.worker != nullptr)
      forwarded.push_back(tag);
    else
      flight.run->cancel();
  }
  for (const std::int64_t tag : forwarded) {
    const Flight flight = leave(tag);
    flight.worker->cancel(flight.worker_tag);
    fail(flight, Status::unavailable, Trouble::shutdown,
         "the server shut down before the query finished");
  }
}

}  // namespace engine::frontend
