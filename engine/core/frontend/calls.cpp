// Calls and streams as they come and go: what is answered here, what by Python.
#include <atomic>
#include <optional>
#include <utility>

#include "frontend/callers.hpp"
#include "frontend/counted_text.hpp"
#include "frontend/frontend.hpp"
#include "scheduler/clock.hpp"

namespace engine::frontend {

namespace {

/// A message behind its prefix; nothing where the process may not hold it.
std::optional<std::vector<OutPart>> parts_of(std::string content) {
  std::vector<OutPart> parts(1);
  put_prefix(parts[0].own, content.size());
  if (!add_counted(parts, std::move(content))) return std::nullopt;
  return parts;
}

}  // namespace

void Frontend::on_call(Connection& connection, Call& call) {
  connection.last_used = ++last_use_;
  places_.emplace(call.token, Place{&connection, &call});
  look_at_caller(connection, call);
  if (call.rest != nullptr) return;  // it is looked at when it is whole
  if (call.has_ended) return connection.go_on(call);
  if (call.method == Method::other) hand_over(connection, call);
}

void Frontend::on_message(Connection& connection, Call& call, Message message) {
  if (call.method == Method::stream_infer) {
    call.messages.push_back(std::move(message));
    send_ready_items({&connection, &call});
  } else if (call.is_pythons) {
    tell_python(call, {.kind = Event::message, .content = std::move(message)});
  } else if (call.messages.empty()) {
    call.messages.push_back(std::move(message));
  } else {
    call.end(Status::internal, "the call has one message, a second one came");
    connection.go_on(call);
  }
}

void Frontend::on_complete(Connection& connection, Call& call) {
  if (call.rest != nullptr) return on_request(connection, call);
  switch (call.method) {
    case Method::infer:
      if (!call.messages.empty() && try_answer(call, call.messages.front(), 0))
        call.messages.clear();
      else
        hand_over(connection, call);
      return;
    case Method::stream_infer:
      return send_ready_items({&connection, &call});
    case Method::live:
      return answer_shortly(connection, call, "\x08\x01");  // live: true
    case Method::server_ready:
    case Method::model_ready:
    case Method::health:
      if (const auto answer = readiness_answer(call))
        return answer_shortly(connection, call, *answer);
      return hand_over(connection, call);
    case Method::other:
      tell_python(call, {.kind = Event::end});
  }
}

void Frontend::on_gone(Call& call) {
  places_.erase(call.token);
  if (call.rest != nullptr && call.method == Method::infer && call.is_complete) --rest_queries_;
  for (const std::int64_t tag : call.flights) {
    const auto found = flights_.find(tag);
    if (found == flights_.end()) continue;
    if (found->second.worker == nullptr) {
      found->second.run->cancel();
    } else {
      const Flight gone = leave(tag);
      gone.worker->cancel(gone.worker_tag);
    }
  }
  // What Python has not heard of needs no end.
  if (call.is_pythons && events_.withdraw(call.token) < call.told)
    tell_python(call, {.kind = Event::gone});
}

void Frontend::tell_python(Call& call, Event event) {
  event.token = call.token;
  call.is_pythons = true;
  ++call.told;
  events_.put(std::move(event));
}

void Frontend::hand_over(Connection& connection, Call& call) {
  if (events_.is_full()) {
    call.messages.clear();
    call.end(Status::resource_exhausted, PythonQueue::full);
    return connection.go_on(call);
  }
  tell_python(call, {.kind = Event::call,
                     .path = call.path,
                     .encoding = call.encoding,
                     .deadline_ns = call.deadline_ns,
                     .authorization = call.authorization,
                     .certificate_names = names_of(call),
                     .trace_parent = call.trace_parent});
  for (Message& message : call.messages)
    tell_python(call, {.kind = Event::message, .content = std::move(message)});
  call.messages.clear();
  if (call.is_complete) tell_python(call, {.kind = Event::end});
}

void Frontend::hand_over_item(Call& call, std::uint64_t number, Message message) {
  tell_python(call, {.kind = Event::item,
                     .number = number,
                     .encoding = call.encoding,
                     .content = std::move(message),
                     .deadline_ns = call.deadline_ns,
                     .authorization = call.authorization,
                     .certificate_names = names_of(call),
                     .trace_parent = call.trace_parent});
}

/// Nothing where Python has to say who is ready.
std::optional<std::string> Frontend::readiness_answer(const Call& call) const {
  if (call.messages.size() != 1 || call.messages.front().is_compressed) return std::nullopt;
  const Bytes request = call.messages.front().content();
  if (call.method == Method::server_ready) return server_ready_answer(readiness_, request);
  if (call.method == Method::model_ready) return model_ready_answer(readiness_, request);
  return health_answer(readiness_, request);
}

void Frontend::answer_shortly(Connection& connection, Call& call, std::string_view message) {
  std::vector<OutPart> parts(1);
  put_prefix(parts[0].own, message.size());
  parts[0].own += message;
  call.send(std::move(parts));
  call.end(Status::ok);
  connection.go_on(call);
}

void Frontend::take_replies() {
  for (Reply& reply : replies_.take()) {
    const Place place = find(reply.token);
    if (place.call == nullptr) continue;
    if (reply.kind == Reply::answer) {
      take_answer(place, reply);
      continue;
    }
    if (reply.kind != Reply::end) {
      std::optional<std::vector<OutPart>> parts = parts_of(std::move(reply.content));
      if (parts && reply.kind == Reply::item) {
        finish_item(place, reply.number, std::move(*parts));
        continue;
      }
      if (parts)
        place.call->send(std::move(*parts));
      else
        place.call->end(Status::resource_exhausted, no_room_to_answer);
    } else {
      place.call->is_pythons = false;
      if (!place.call->has_ended) place.call->end(reply.status, std::move(reply.content));
    }
    place.connection->go_on(*place.call);
    touch(*place.connection);
  }
  if (ends_receipts_.exchange(false, std::memory_order_relaxed))  // relaxed: see end_receipts()
    for (const auto& [number, connection] : connections_)
      if (connection->end_receipts()) touch(*connection);
  if (abandons_.load(std::memory_order_relaxed))  // relaxed: see abandon()
    cancel_all();
}

// --- streams ---

void Frontend::finish_item(Place place, std::uint64_t number, std::vector<OutPart> parts) {
  Call& call = *place.call;
  if (number < call.first_item || number - call.first_item >= call.items.size()) return;
  Item& item = call.items[static_cast<std::size_t>(number - call.first_item)];
  item.answer = std::move(parts);
  item.is_answered = true;
  send_ready_items(place);
}

void Frontend::send_ready_items(Place place) {
  Call& call = *place.call;
  if (call.has_ended || std::exchange(call.is_sending, true)) return;
  const std::size_t before = call.out_bytes;
  do {
    while (!call.items.empty() && call.items.front().is_answered) {
      call.send(std::move(call.items.front().answer));
      call.items.pop_front();
      ++call.first_item;
    }
  } while (begin_items(call));
  call.is_sending = false;
  if (call.has_ended) {
    place.connection->go_on(call);
    return touch(*place.connection);
  }
  if (call.messages.empty()) place.connection->consume(call);
  const bool is_over = call.is_complete && call.items.empty();
  if (is_over) {
    call.is_pythons = false;
    call.end(Status::ok);
  }
  if (call.out_bytes == before && !is_over) return;
  place.connection->go_on(call);
  touch(*place.connection);
}

/// Begins queries of a stream, as many as run at a time; further ones wait, then with the client.
/// False where none was begun.
bool Frontend::begin_items(Call& call) {
  constexpr std::size_t most_ahead = 64;
  bool any = false;
  while (!call.messages.empty() && call.items.size() < most_ahead) {
    Message message = std::move(call.messages.front());
    call.messages.pop_front();
    const std::uint64_t number = call.first_item + call.items.size();
    call.items.emplace_back();
    any = true;
    if (try_answer(call, message, number)) continue;
    if (events_.is_full()) {
      call.messages.clear();
      call.items.clear();
      call.end(Status::resource_exhausted, PythonQueue::full);
      return false;
    }
    hand_over_item(call, number, std::move(message));
  }
  return any;
}

}  // namespace engine::frontend
