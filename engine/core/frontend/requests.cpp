// REST's requests: what is answered here, what by Python.
#include <algorithm>
#include <string>
#include <utility>

#include "frontend/callers.hpp"
#include "frontend/counted_text.hpp"
#include "frontend/frontend.hpp"
#include "frontend/rest_request.hpp"

namespace engine::frontend {

bool Frontend::read_request(const Call& call, const Message& message) {
  return call.rest == nullptr ? request_.read(message.content())
                              : read_rest_request(*call.rest, message.content(), request_);
}

void Frontend::on_request(Connection& connection, Call& call) {
  if (call.method == Method::live)
    return answer_document(connection, call, 200, "{\"live\": true}");
  if (call.method == Method::server_ready || call.method == Method::model_ready) {
    const bool of_model = call.method == Method::model_ready;
    const auto& [head, model, version, status, fields] = *call.rest;
    const auto is_ready = of_model ? readiness_.model(model, version) : readiness_.server();
    if (!is_ready) return hand_over_request(connection, call);
    std::string document = "{";
    if (of_model) {
      document += "\"name\": ";
      put_json_text(document, model);
      document += ", ";
    }
    document += *is_ready ? "\"ready\": true}" : "\"ready\": false}";
    return answer_document(connection, call, *is_ready ? 200 : 400, std::move(document));
  }
  if (call.method == Method::infer) {
    ++rest_queries_;
    if (!leaves_room(connection, call)) return;
    if (try_answer(call, call.messages.front(), 0)) return call.messages.clear();
  }
  hand_over_request(connection, call);
}

void Frontend::answer_document(Connection& connection, Call& call, int status,
                               std::string document) {
  call.rest->status = status;
  call.rest->fields = "Content-Type: application/json; charset=utf-8\r\n";
  std::vector<OutPart> parts(1);
  parts[0].own = std::move(document);
  call.send(std::move(parts));
  call.end(Status::ok);
  connection.go_on(call);
}

/// Queries leave some connections to others; a call that would not is refused.
bool Frontend::leaves_room(Connection& connection, Call& call) {
  const std::size_t all = params_.most_connections, most = all - std::min(all - 1, part_of(all));
  if (rest_queries_ <= most) return true;
  call.end(Status::resource_exhausted, std::to_string(rest_queries_ - 1) + " of " +
                                           std::to_string(all) + " connections have queries");
  connection.go_on(call);
  return false;
}

void Frontend::hand_over_request(Connection& connection, Call& call) {
  if (events_.is_full()) {
    call.messages.clear();
    call.end(Status::resource_exhausted, PythonQueue::full);
    return connection.go_on(call);
  }
  http1::RequestHead& head = call.rest->head;
  tell_python(call, {.kind = Event::request,
                     .path = head.target,
                     .content = std::move(call.messages.front()),
                     .method = head.method,
                     .fields = std::move(head.fields),
                     .authorization = call.authorization,
                     .certificate_names = names_of(call)});
  call.messages.clear();
}

void Frontend::take_answer(Place place, Reply& reply) {
  Call& call = *place.call;
  if (call.rest == nullptr) return;
  call.is_pythons = false;
  std::vector<OutPart> parts;
  if (add_counted(parts, std::move(reply.content))) {
    call.rest->status = reply.http_status;
    call.rest->fields = std::move(reply.fields);
    call.send(std::move(parts));
    call.end(Status::ok);
  } else {
    call.end(Status::resource_exhausted, no_room_to_answer);
  }
  place.connection->go_on(call);
  touch(*place.connection);
}

}  // namespace engine::frontend
