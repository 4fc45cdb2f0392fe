// Queries to servers and back: who is asked, who next.
#include <utility>

#include "failures.hpp"
#include "replicas/query_head.hpp"
#include "replicas/replicas.hpp"
#include "scheduler/clock.hpp"

namespace engine::replicas {

namespace {

constexpr std::int64_t early_ns = 10'000'000;

/// The first line of a request, and those that belong to its content.
std::string rest_head_of(const isolation::RestAsked& asked, std::string_view trace_parent) {
  std::string head = "POST ";
  ((head += asked.target) += " HTTP/1.1\r\n") += asked.fields;
  if (!trace_parent.empty()) ((head += "Traceparent: ") += trace_parent) += "\r\n";
  return head;
}

}  // namespace

isolation::QueryLink::Sent Replicas::submit(const isolation::LinkedQuery& query,
                                            std::shared_ptr<isolation::AnswerSink> sink,
                                            std::uint64_t number, std::uint64_t& tag) {
  const isolation::RestAsked* const rest = query.rest;
  const QueryHead head =
      rest != nullptr ? QueryHead{rest->model, rest->sequence} : QueryHead::of(query.content);
  Pending pending{.sink = std::move(sink),
                  .number = number,
                  .query = query,
                  .trace_parent = std::string(query.trace_parent),
                  .rest_head = rest != nullptr ? rest_head_of(*rest, query.trace_parent) : "",
                  .is_in_sequence = head.sequence != 0};
  pending.query.rest = nullptr;  // it lasts for this call
  if (query.owner == nullptr) {
    const auto copy = std::make_shared<std::string>(
        reinterpret_cast<const char*>(query.content.data()), query.content.size());
    pending.query.content = bytes_of(*copy);
    pending.query.owner = copy;
  }
  const std::lock_guard lock(mutex_);
  const std::string model(head.model);
  const auto known = models_.find(model);
  if (known == models_.end() || (rest != nullptr && !takes_rest(known->second))) return Sent::gone;
  const std::int64_t now = now_ns();
  const auto sent = balancer_.send(balancer_.model(model), now, query.deadline_ns, head.sequence);
  if (!sent) return Sent::gone;
  tag = ++last_tag_;
  pending.ticket = sent->ticket;
  pending.server = sent->server;
  put(tag, pending_.emplace(tag, std::move(pending)).first->second, now);
  settle(now);
  look_soon(now);
  if (!told_.empty()) bell_.ring();
  return Sent::yes;
}

/// Puts it on its server's line.
void Replicas::put(std::uint64_t tag, Pending& pending, std::int64_t now_ns) {
  tag_of_ticket_.emplace(pending.ticket, tag);
  pending.query.trace_parent = pending.trace_parent;
  const Server& server = *servers_[static_cast<std::size_t>(pending.server)];
  if (server.line == nullptr || server.is_silent) {
    ended_.push_back({pending.ticket,
                      {.status = unavailable, .text = server.address.text + " cannot be reached"},
                      true});
    return;
  }
  if (!pending.rest_head.empty()) return put_rest(pending, now_ns);
  server.line->ask(pending.ticket, pending.query, now_ns);
  flush(pending.server, now_ns);
}

void Replicas::put_rest(const Pending& pending, std::int64_t now_ns) {
  const Server& server = *servers_[static_cast<std::size_t>(pending.server)];
  if (server.rest_address == nullptr)
    return on_answer(pending.ticket, {.status = unavailable,
                                      .text = server.address.text + " has no port for REST"});
  rest_.ask(pending.server, *server.rest_address,
            {.ticket = pending.ticket,
             .head = pending.rest_head,
             .content = pending.query.content,
             .owner = pending.query.owner,
             .may_repeat = !pending.is_in_sequence},
            now_ns);
}

void Replicas::cancel(std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(tag);
  if (found == pending_.end()) return;
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  tag_of_ticket_.erase(pending.ticket);
  const std::int64_t now = now_ns();
  const std::int64_t due_ns = pending.query.deadline_ns;
  // Its caller, who began to count before us, did not wait for longer: the server was silent.
  if (due_ns != 0 && due_ns <= now + early_ns)
    static_cast<void>(balancer_.failed(pending.ticket, now, routing::Failure::late));
  else
    balancer_.abandoned(pending.ticket);
  rest_.forget(pending.ticket);
  if (const auto& server = servers_[static_cast<std::size_t>(pending.server)]; server->line) {
    server->line->forget(pending.ticket);
    flush(pending.server, now);
  }
  settle(now);
  if (!told_.empty()) bell_.ring();
}

void Replicas::on_answer(std::uint64_t ticket, LineAnswer answer) {
  ended_.push_back({ticket, std::move(answer)});
}

/// What lines have told of: learnt from, and told, or tried once more.
void Replicas::settle(std::int64_t now_ns) {
  while (!ended_.empty()) {
    std::vector<Ended> ended = std::exchange(ended_, {});
    for (Ended& one : ended) settle_one(std::move(one), now_ns);
  }
}

void Replicas::settle_one(Ended ended, std::int64_t now_ns) {
  const auto found = tag_of_ticket_.find(ended.ticket);
  if (found == tag_of_ticket_.end()) return;
  const std::uint64_t tag = found->second;
  tag_of_ticket_.erase(found);
  Pending& pending = pending_.at(tag);
  if (ended.answer.status == 0) {
    balancer_.answered(ended.ticket, now_ns, ended.answer.wait_ns);
  } else {
    const routing::Failure failure =
        ended.is_lost ? routing::Failure::lost : routing::failure_of(ended.answer.status);
    if (const auto again = balancer_.failed(ended.ticket, now_ns, failure)) {
      pending.ticket = again->ticket;
      pending.server = again->server;
      return put(tag, pending, now_ns);
    }
  }
  told_.push_back({std::move(pending.sink), pending.number, std::move(ended.answer)});
  pending_.erase(tag);
}

}  // namespace engine::replicas
