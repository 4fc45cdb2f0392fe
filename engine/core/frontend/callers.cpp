// Who asks: what is answered here is answered to whoever may ask for it; of the rest Python knows.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/frontend.hpp"
#include "frontend/proto.hpp"

namespace engine::frontend {

namespace {

/// What a call needs, as far as its method tells; nothing where Python knows.
std::optional<Right> right_of(Method method) noexcept {
  switch (method) {
    case Method::infer:
    case Method::stream_infer:
      return Right::infer;
    case Method::live:
    case Method::server_ready:
    case Method::model_ready:
    case Method::health:
      return Right::health;
    case Method::other:
      break;
  }
  return std::nullopt;
}

/// A ModelStreamInferResponse that says what is wrong with one query of a stream.
std::vector<OutPart> stream_failure(const std::string& text, const std::string& id) {
  std::string failed, message;
  put_text(failed, 3, id);
  put_text(message, 1, text);
  put_length(message, 2, failed.size());
  message += failed;
  std::vector<OutPart> parts(1);
  put_prefix(parts[0].own, message.size());
  parts[0].own += message;
  return parts;
}

}  // namespace

void Frontend::set_access(std::shared_ptr<const Access> access) {
  const std::lock_guard lock(access_mutex_);
  access_ = std::move(access);
}

Access::Verdict Frontend::verdict_on(const Call& call, Right right,
                                     std::optional<std::string_view> model) const {
  std::shared_ptr<const Access> access;
  {
    const std::lock_guard lock(access_mutex_);
    access = access_;
  }
  if (access == nullptr) return {};
  return access->check(right, {call.authorization, call.certificate_names}, model);
}

/// Ends a call whose caller may not make it, before its message comes. Which model it is about is
/// known later.
void Frontend::look_at_caller(Connection& connection, Call& call) {
  if (call.rest != nullptr) call.authorization = call.rest->head.field("authorization");
  call.certificate_names = connection.certificate_names();
  const auto right = right_of(call.method);
  if (!right) return;
  Access::Verdict verdict = verdict_on(call, *right, std::nullopt);
  if (!verdict.is_yes()) call.end(verdict.status, std::move(verdict.why));
}

/// Whether the query that was read last is of somebody who may not ask its model; then he knows.
bool Frontend::turn_away_stranger(const Call& call, std::uint64_t item) {
  const Access::Verdict verdict = verdict_on(call, Right::infer, request_.model);
  if (verdict.is_yes()) return false;
  answer_why({.token = call.token,
              .item = item,
              .in_stream = call.method == Method::stream_infer,
              .id = std::string(request_.id)},
             verdict.status, verdict.why);
  return true;
}

/// Ends a query without a word of it to its model's counts.
void Frontend::answer_why(const Flight& flight, Status status, const std::string& text) {
  const Place place = find(flight.token);
  if (place.call == nullptr) return;
  if (flight.in_stream) return finish_item(place, flight.item, stream_failure(text, flight.id));
  place.call->end(status, text);
  place.connection->go_on(*place.call);
  touch(*place.connection);
}

}  // namespace engine::frontend
