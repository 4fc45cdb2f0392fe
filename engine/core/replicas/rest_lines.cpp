#include "replicas/rest_lines.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace engine::replicas {

namespace {

constexpr std::int64_t most_idle_ns = 10'000'000'000;

}  // namespace

void RestLines::ask(routing::Number server, const ServerAddress& address, RestQuery query,
                    std::int64_t now_ns) {
  sweep(server, now_ns);
  const auto idle = idle_.find(server);
  if (idle == idle_.end() || idle->second.empty())
    return ask_anew(server, address, std::move(query), now_ns);
  const std::uint64_t who = idle->second.back();
  idle->second.pop_back();
  begin(who, std::move(query), now_ns);
}

void RestLines::ask_anew(routing::Number server, const ServerAddress& address, RestQuery query,
                         std::int64_t now_ns) {
  const std::uint64_t who = ++last_line_ | of_rest;
  try {
    auto line = std::make_unique<Line>(params_, address, server);
    epoll_event event{};
    event.events = line->events = line->rest.events();
    event.data.u64 = who;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, line->rest.socket(), &event) != 0)
      throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    lines_.emplace(who, std::move(line));
  } catch (const std::runtime_error& error) {
    return sink_.on_answer(query.ticket,
                           {.status = unavailable, .text = address.text + ": " + error.what()});
  }
  begin(who, std::move(query), now_ns);
}

void RestLines::begin(std::uint64_t who, RestQuery query, std::int64_t now_ns) {
  RestLine& rest = lines_.at(who)->rest;
  line_of_ticket_.emplace(query.ticket, who);
  rest.ask(std::move(query));
  go_on(who, rest.flush(), now_ns);
}

void RestLines::take(std::uint64_t who, std::uint32_t events, std::int64_t now_ns) {
  const auto found = lines_.find(who);
  if (found != lines_.end()) go_on(who, found->second->rest.take(events), now_ns);
}

void RestLines::go_on(std::uint64_t who, RestLine::State state, std::int64_t now_ns) {
  switch (state) {
    case RestLine::State::waits:
      return watch(who);
    case RestLine::State::answered:
      return answer(who, now_ns);
    case RestLine::State::lost:
      return lose(who, now_ns);
  }
}

void RestLines::answer(std::uint64_t who, std::int64_t now_ns) {
  Line& line = *lines_.at(who);
  const std::uint64_t ticket = line.rest.query()->ticket;
  LineAnswer found = line.rest.take_answer();
  line_of_ticket_.erase(ticket);
  if (line.rest.is_kept()) {
    line.idle_since_ns = now_ns;
    idle_[line.server].push_back(who);
    watch(who);
  } else {
    end(who);
  }
  sink_.on_answer(ticket, std::move(found));
}

void RestLines::lose(std::uint64_t who, std::int64_t now_ns) {
  Line& line = *lines_.at(who);
  const routing::Number server = line.server;
  const ServerAddress& address = line.rest.address();
  const bool is_asked_anew = line.rest.may_be_stale();
  std::string why = address.text + ": " + line.rest.why();
  std::optional<RestQuery> query = line.rest.take_query();
  end(who);
  if (!query) return;
  line_of_ticket_.erase(query->ticket);
  if (is_asked_anew && query->may_repeat)
    return ask_anew(server, address, std::move(*query), now_ns);
  sink_.on_answer(query->ticket, {.status = unavailable, .text = std::move(why)});
}

void RestLines::forget(std::uint64_t ticket) {
  const auto found = line_of_ticket_.find(ticket);
  if (found == line_of_ticket_.end()) return;
  const std::uint64_t who = found->second;
  line_of_ticket_.erase(found);
  end(who);
}

void RestLines::sweep(routing::Number server, std::int64_t now_ns) {
  const auto idle = idle_.find(server);
  while (idle != idle_.end() && !idle->second.empty()) {
    const std::uint64_t first = idle->second.front();
    if (now_ns - lines_.at(first)->idle_since_ns < most_idle_ns) return;
    end(first);
  }
}

void RestLines::drop(routing::Number server, const std::string& why) {
  std::vector<std::uint64_t> tickets, numbers;
  for (const auto& [who, line] : lines_) {
    if (line->server != server) continue;
    numbers.push_back(who);
    if (line->rest.query()) tickets.push_back(line->rest.query()->ticket);
  }
  for (const std::uint64_t who : numbers) end(who);
  for (const std::uint64_t ticket : tickets) {
    line_of_ticket_.erase(ticket);
    sink_.on_answer(ticket, {.status = unavailable, .text = why});
  }
}

/// Its socket leaves epoll as it is closed.
void RestLines::end(std::uint64_t who) {
  const auto found = lines_.find(who);
  if (const auto idle = idle_.find(found->second->server); idle != idle_.end())
    std::erase(idle->second, who);
  lines_.erase(found);
}

void RestLines::watch(std::uint64_t who) {
  Line& line = *lines_.at(who);
  const std::uint32_t events = line.rest.events();
  if (events == line.events) return;
  line.events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = who;
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, line.rest.socket(), &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

}  // namespace engine::replicas
