// Queries over REST that other servers answer (replicas/): sent on, and answered, as they came.
#include <string>
#include <utility>
#include <vector>

#include "frontend/frontend.hpp"
#include "frontend/rest_skim.hpp"
#include "scheduler/clock.hpp"

namespace engine::frontend {

namespace {

/// Lines of a request's head that say what its body is.
std::string body_fields(const http1::RequestHead& head) {
  std::string lines;
  for (const std::string_view name : {"content-type", "inference-header-content-length"})
    if (const std::string_view value = head.field(name); !value.empty())
      (((lines += name) += ": ") += value) += "\r\n";
  return lines;
}

}  // namespace

/// False, and nothing done, where Python has to answer.
bool Frontend::forward_rest(Call& call, FrontModelPtr model, const Message& message) {
  const Rest& rest = *call.rest;
  const std::optional<RestSkim> found = skimmed(rest, message.content());
  if (!found) return false;
  request_.clear();
  request_.model = rest.model;
  request_.version = rest.version;
  request_.id = found->id;
  request_.timeout_us = found->timeout_us;
  if (turn_away_stranger(call, 0)) return true;
  const std::string fields = body_fields(rest.head);
  const isolation::RestAsked asked{.model = rest.model,
                                   .target = rest.head.target,
                                   .fields = fields,
                                   .sequence = found->sequence};
  return forward(call, std::move(model), message, 0, &asked);
}

/// What a server answered to a flight that has ended, whatever its status.
void Frontend::pass_on(const Flight& flight, const isolation::WorkerAnswer& answer) {
  const std::int64_t ended_ns = now_ns();
  if (const Place place = find(flight.token); place.call != nullptr) {
    Call& call = *place.call;
    call.rest->status = answer.http_status;
    call.rest->fields = answer.fields;
    std::vector<OutPart> parts;
    if (answer.owner != nullptr)
      parts.push_back({.own = {}, .foreign = answer.content, .owner = answer.owner});
    call.send(std::move(parts));
    call.end(Status::ok);
    place.connection->go_on(call);
    touch(*place.connection);
  }
  const auto status = static_cast<Status>(answer.status);
  if (status == Status::ok)
    count(flight, ended_ns, answer.waited_ns);
  else
    count_failure(flight, trouble_of(status, answer.refusal));
}

}  // namespace engine::frontend
