// Queries that are answered without Python: from a message to a run, and back.
// Long because each way in which a query may end is told to its client here.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "frontend/frontend.hpp"
#include "frontend/rest_answer.hpp"
#include "memory/refused.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/machine.hpp"

namespace engine::frontend {

namespace {

/// A run that is expected to take less is computed by the thread that received it: a hand-over to a
/// lane and back takes as long.
constexpr std::int64_t worth_handing_over_ns = 50'000;
constexpr std::size_t largest_here_bytes = 64 * 1024;
/// Runs that take longer are traced, to see how long they wait for a lane, and one of so many that
/// do not: by half a percent at most.
constexpr std::int64_t long_ns = 1'000'000, sampled = 64;

bool is_short(const Plan& plan) noexcept {
  const std::int64_t work_ns = plan.times().work_ns();
  return work_ns > 0 && work_ns < worth_handing_over_ns;
}

std::size_t bytes_of(const std::vector<ValuePtr>& values) noexcept {
  std::size_t bytes = 0;
  for (const ValuePtr& value : values) bytes += value->bytes();
  return bytes;
}

bool is_long(const Plan& plan) noexcept { return plan.times().work_ns() >= long_ns; }

/// How long a traced run waited for its first node.
std::int64_t waited_ns(const Run& run) noexcept {
  std::int64_t first_ns = 0;
  for (const NodeSpan& span : run.spans())
    if (span.lane >= 0 && (first_ns == 0 || span.start_ns < first_ns)) first_ns = span.start_ns;
  return first_ns == 0 ? 0 : std::max<std::int64_t>(0, first_ns - run.submitted_ns());
}

/// Whether those that are wanted in a document can be written into one.
bool are_written(const std::vector<Delivery>& wanted, const FrontModel& model) noexcept {
  return std::ranges::all_of(wanted, [&](const Delivery& one) {
    return one.as_bytes || !one.region.empty() || is_written(model.outputs[one.place]);
  });
}

}  // namespace

/// False, and nothing done, where Python has to answer.
bool Frontend::try_answer(Call& call, const Message& message, std::uint64_t item) {
  // relaxed: as drain() says
  if (message.is_compressed || draining_.load(std::memory_order_relaxed)) return false;
  if (call.rest != nullptr)
    if (FrontModelPtr model = models_.find(call.rest->model, call.rest->version);
        model != nullptr && model->worker != nullptr && model->worker->takes_rest())
      return forward_rest(call, std::move(model), message);
  if (!read_request(call, message)) return false;
  if (turn_away_stranger(call, item)) return true;
  FrontModelPtr model = models_.find(request_.model, request_.version);
  if (model == nullptr) return false;
  if (model->worker != nullptr && call.rest != nullptr) return false;  // its request is no message
  if (model->worker != nullptr) return forward(call, std::move(model), message, item);
  if (model->route == nullptr) return false;
  bool done = false;
  try {
    const Regions& regions = *params_.regions;
    std::optional<std::vector<Delivery>> wanted = wanted_outputs(request_, *model, regions);
    const std::size_t most_bytes = params_.connection.most_message_bytes;
    if (wanted && call.rest != nullptr && !are_written(*wanted, *model)) wanted.reset();
    if (wanted && collect(request_, message, *model, regions, most_bytes, values_)) {
      done = submit(call, std::move(model), std::move(*wanted), item);
    }
  } catch (const std::exception&) {
    // Without memory for it, or a region: Python tries anew, and says why.
  }
  values_.clear();
  return done;
}

/// The same.
bool Frontend::submit(Call& call, FrontModelPtr model, std::vector<Delivery> wanted,
                      std::uint64_t item) {
  Flight flight{.run = {},
                .token = call.token,
                .item = item,
                .in_stream = call.method == Method::stream_infer,
                .model = std::move(model),
                .id = std::string(request_.id),
                .trace_parent = call.trace_parent,
                .wanted = std::move(wanted),
                .received_ns = call.method == Method::stream_infer ? now_ns() : call.received_ns,
                .started_ns = now_ns()};
  if (turn_away(flight)) return true;
  if (flight.model->answers != nullptr) {
    if (bytes_of(values_) > most_copied) return false;  // to be compared, while others wait
    if (answer_kept(call, flight)) return true;
  }
  const Route::Way way = flight.model->route->take(call.received_ns);
  if (way.plan == nullptr) return false;
  const std::int64_t tag = ++last_tag_;
  const RunOptions options{.deadline_ns = due_ns_of(call, request_),
                           .priority = priority_of(request_.priority),
                           .traced = is_long(*way.plan) || tag % sampled == 0,
                           .completions = finished_,
                           .tag = tag};
  try {
    flight.run = begin(*flight.model, way, options);
  } catch (const std::runtime_error&) {
    return false;  // the machine was closed, since it has lost a device say
  }
  enter(call, tag, std::move(flight));
  return true;
}

/// Whether the model runs as many queries as it may; then this one is answered so.
bool Frontend::turn_away(const Flight& flight) {
  // relaxed: this thread alone changes it
  const std::size_t others = flight.model->in_flight.load(std::memory_order_relaxed);
  if (others < flight.model->most_in_flight) return false;
  if (flight.worker == nullptr) flight.model->counts.add(FrontCounts::fail, 0);  // else fail() does
  fail(flight, Status::resource_exhausted, Trouble::queue_full,
       flight.model->text() + " has " + std::to_string(others) + " queries in flight, its limit");
  return true;
}

void Frontend::enter(Call& call, std::int64_t tag, Flight flight) {
  // relaxed, both: this thread alone changes them
  flight.model->in_flight.fetch_add(1, std::memory_order_relaxed);
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  call.flights.push_back(tag);
  flights_.emplace(tag, std::move(flight));
}

/// A flight that is there.
Frontend::Flight Frontend::leave(std::int64_t tag) {
  const auto found = flights_.find(tag);
  Flight flight = std::move(found->second);
  flights_.erase(found);
  // relaxed, both: as in enter()
  flight.model->in_flight.fetch_sub(1, std::memory_order_relaxed);
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  return flight;
}

RunPtr Frontend::begin(FrontModel& model, const Route::Way& way, const RunOptions& options) {
  const Plan& plan = *way.plan;
  const std::int64_t since_ns = now_ns();
  if (!way.is_bounded || !is_short(plan) || model.hand_over.is_on(since_ns) ||
      bytes_of(values_) > largest_here_bytes)
    return plan.machine().submit(plan, values_, options);
  const bool is_watched = model.hand_over.is_watching(since_ns);
  const std::int64_t had_ns = is_watched ? thread_cpu_ns() : 0;
  RunPtr run = plan.machine().submit_here(plan, values_, options);
  const std::int64_t until_ns = now_ns();
  model.hand_over.note(until_ns, until_ns - since_ns, is_watched ? thread_cpu_ns() - had_ns : 0);
  return run;
}

void Frontend::take_finished() {
  for (const RunPtr& run : finished_->drain()) {
    if (!flights_.contains(run->tag())) continue;
    Flight flight = leave(run->tag());
    if (const Place place = find(flight.token); place.call != nullptr)
      std::erase(place.call->flights, run->tag());
    finish(std::move(flight));
  }
}

void Frontend::finish(Flight flight) {
  const Run& run = *flight.run;
  FrontCounts& counts = flight.model->counts;
  const std::int64_t ended_ns = now_ns();
  tell_load(flight);
  switch (run.outcome()) {
    case Outcome::ok:
      break;
    case Outcome::refused:
      counts.add(FrontCounts::refused, ended_ns - flight.received_ns);
      note_refusal(flight, isolation::Refusal::late);
      return fail(flight, Status::resource_exhausted, Trouble::refused, run.error());
    case Outcome::turned_away:
      note_refusal(flight, isolation::Refusal::queue);
      return fail(flight, Status::unavailable, Trouble::queue_full, run.error());
    case Outcome::deadline:
      return fail(
          flight, Status::deadline_exceeded, Trouble::deadline,
          run.error().empty() ? "the query's deadline passed before it finished" : run.error());
    case Outcome::cancelled: {
      // relaxed: see abandon()
      const bool abandoned = abandons_.load(std::memory_order_relaxed);
      return fail(flight, abandoned ? Status::unavailable : Status::cancelled,
                  abandoned ? Trouble::shutdown : Trouble::cancelled,
                  abandoned ? "the server shut down before the query finished" : "query cancelled");
    }
    case Outcome::failed:
    case Outcome::pending:
      if (run.error_code() == MemoryRefused::kCode)
        return fail(flight, Status::resource_exhausted, Trouble::memory, run.error());
      counts.add(FrontCounts::fail, ended_ns - flight.received_ns);
      flight.model->tally->trouble.add(Trouble::failed);
      remember(flight, Trouble::failed, ended_ns, ended_ns, isolation::not_known_ns);
      if (const Place place = find(flight.token); place.call != nullptr) {
        tell_python(*place.call, {.kind = flight.in_stream ? Event::item_failed : Event::failed,
                                  .number = flight.item,
                                  .path = run.error(),
                                  .encoding = flight.id});
      }
      return;
  }
  if (flight.asked != nullptr) keep(flight);
  if (!delivered(flight, run.outputs())) return;
  count(flight, ended_ns, run.traced() ? waited_ns(run) : isolation::not_known_ns);
}

/// To who wants to know; a stream's answers have no place for it.
void Frontend::tell_load(const Flight& flight) {
  const Place place = find(flight.token);
  if (place.call == nullptr || !place.call->wants_load || flight.in_stream) return;
  place.call->load = load_.of(flight.run->plan().machine(), now_ns());
}

/// For who sent it here from another process, and counts it there.
void Frontend::note_refusal(const Flight& flight, isolation::Refusal refusal) {
  if (const Place place = find(flight.token); place.call != nullptr) place.call->refusal = refusal;
}

/// Sends the model's outputs to who asked, if that one is still there; false where they cannot be,
/// and then that is answered.
bool Frontend::delivered(const Flight& flight, const std::vector<ValuePtr>& outputs) {
  const Place place = find(flight.token);
  if (place.call == nullptr) return true;
  try {
    deliver(place, flight, outputs);
    return true;
  } catch (const DeliveryError& error) {
    fail(flight, error.status(), Trouble::input, error.what());
  } catch (const std::runtime_error& error) {
    fail(flight, Status::internal, Trouble::failed, error.what());
  }
  return false;
}

/// Throws DeliveryError.
void Frontend::deliver(Place place, const Flight& flight, const std::vector<ValuePtr>& outputs) {
  const Regions& regions = *params_.regions;
  Call& call = *place.call;
  if (call.rest != nullptr) {
    RestAnswer answer = rest_answer(*flight.model, flight.id, flight.wanted, outputs, regions);
    call.rest->status = http_status(Status::ok);
    call.rest->fields = std::move(answer.fields);
    call.send(std::move(answer.parts));
  } else {
    std::vector<OutPart> parts =
        answer_parts(*flight.model, flight.id, flight.wanted, outputs, regions, flight.in_stream);
    if (flight.in_stream) return finish_item(place, flight.item, std::move(parts));
    if (flight.kept == nullptr && flight.run->traced()) call.waited_ns = waited_ns(*flight.run);
    call.send(std::move(parts));
  }
  call.end(Status::ok);
  place.connection->go_on(call);
  touch(*place.connection);
}

void Frontend::fail(const Flight& flight, Status status, Trouble trouble, const std::string& text) {
  count_failure(flight, trouble);
  answer_why(flight, status, text);
}

}  // namespace engine::frontend
