// Servers' connections as they come and go.
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <limits>
#include <system_error>

#include "replicas/replicas.hpp"
#include "scheduler/clock.hpp"

namespace engine::replicas {

namespace {

constexpr std::int64_t first_pause_ns = 100'000'000, longest_pause_ns = 500'000'000;
constexpr std::int64_t second_ns = 1'000'000'000, ms_ns = 1'000'000;

}  // namespace

/// Begins to connect to a server that is not connected to.
void Replicas::connect(routing::Number number, std::int64_t now_ns) {
  Server& server = *servers_[static_cast<std::size_t>(number)];
  server.connect_ns = 0;
  server.was_up = false;
  try {
    LineSink& sink = *this;
    server.line = std::make_unique<ReplicaLine>(api_, params_.line, server.address, sink);
    server.events = server.line->events();
    epoll_event event{};
    event.events = server.events;
    event.data.u64 = static_cast<std::uint64_t>(number);
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, server.line->socket(), &event) == 0)
      return look_soon(now_ns);
  } catch (const std::runtime_error&) {
    // Without a descriptor for it: later.
  }
  lose(number, now_ns);
}

/// Its queries have failed, and it is connected to again, later and later.
void Replicas::lose(routing::Number number, std::int64_t now_ns) {
  Server& server = *servers_[static_cast<std::size_t>(number)];
  const std::string why =
      server.address.text + ": " + (server.line == nullptr ? "no connection" : server.line->why());
  server.is_silent = server.is_silent || (server.line != nullptr && server.line->is_silent());
  server.line.reset();
  balancer_.lost(number, now_ns);
  if (server.is_silent) rest_.drop(number, why);
  for (const auto& [tag, pending] : pending_)  // those over REST have connections of their own
    if (pending.server == number && pending.rest_head.empty() &&
        tag_of_ticket_.contains(pending.ticket))
      ended_.push_back({pending.ticket, {.status = unavailable, .text = why}, true});
  const bool was_up = std::exchange(server.was_up, false);
  server.pause_ns = was_up ? 0 : std::clamp(2 * server.pause_ns, first_pause_ns, longest_pause_ns);
  if (server.is_wanted) server.connect_ns = now_ns + std::max<std::int64_t>(1, server.pause_ns);
  arm();
}

/// Ends the connection to a server that nobody wants any more, once its queries are answered.
void Replicas::leave(Server& server) {
  if (server.is_wanted) return;
  server.connect_ns = 0;
  const auto number = balancer_.server(server.address.text);
  const bool is_asked =
      std::ranges::any_of(pending_, [&](const auto& one) { return one.second.server == number; });
  if (is_asked) return;
  rest_.drop(number, server.address.text + " is asked no more");
  server.line.reset();
  server.was_up = false;
}

void Replicas::flush(routing::Number number, std::int64_t now_ns) {
  Server& server = *servers_[static_cast<std::size_t>(number)];
  if (!server.line->flush()) return lose(number, now_ns);
  // It takes no further queries: what was in flight is answered now, and another one is to be made.
  if (server.line->is_leaving() && server.line->is_idle()) return lose(number, now_ns);
  watch(number);
}

void Replicas::watch(routing::Number number) {
  Server& server = *servers_[static_cast<std::size_t>(number)];
  const std::uint32_t events = server.line->events();
  if (events == server.events) return;
  server.events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(number);
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, server.line->socket(), &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

/// It is time for what arm() waited for.
void Replicas::wake(std::int64_t now_ns) {
  for (std::size_t n = 0; n < servers_.size(); ++n)
    if (servers_[n]->connect_ns != 0 && servers_[n]->connect_ns <= now_ns)
      connect(static_cast<routing::Number>(n), now_ns);
  if (look_ns_ != 0 && look_ns_ <= now_ns) {
    look_ns_ = 0;
    look(now_ns);
  }
  arm();
}

/// Somebody waits for a server.
void Replicas::look_soon(std::int64_t now_ns) {
  if (look_ns_ != 0) return;
  look_ns_ = now_ns + params_.line.unheard_ms * ms_ns / ReplicaLine::looks;
  arm();
}

/// Whether those where queries wait live, and those that have not spoken yet.
void Replicas::look(std::int64_t now_ns) {
  std::vector<bool> is_asked(servers_.size());
  for (const auto& [tag, pending] : pending_)
    is_asked[static_cast<std::size_t>(pending.server)] = true;
  for (std::size_t n = 0; n < servers_.size(); ++n) {
    const auto number = static_cast<routing::Number>(n);
    const std::unique_ptr<ReplicaLine>& line = servers_[n]->line;
    rest_.sweep(number, now_ns);
    if (line == nullptr || (line->is_up() && !is_asked[n])) continue;
    look_soon(now_ns);
    if (line->is_alive())
      flush(number, now_ns);
    else
      lose(number, now_ns);
  }
}

/// Wakes whoever pumps when a server is to be connected to, or looked at.
void Replicas::arm() {
  std::int64_t next_ns = look_ns_ != 0 ? look_ns_ : std::numeric_limits<std::int64_t>::max();
  for (const auto& server : servers_)
    if (server->connect_ns != 0) next_ns = std::min(next_ns, server->connect_ns);
  itimerspec at{};
  if (next_ns != std::numeric_limits<std::int64_t>::max())
    at.it_value = {.tv_sec = next_ns / second_ns, .tv_nsec = next_ns % second_ns};
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

}  // namespace engine::replicas
