#include "replicas/replicas.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "failures.hpp"
#include "replicas/query_head.hpp"
#include "scheduler/clock.hpp"

namespace engine::replicas {

namespace {

constexpr int most_events = 64;
constexpr std::int64_t early_ns = 10'000'000;
constexpr std::uint64_t of_timer = ~std::uint64_t{0}, of_bell = of_timer - 1;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void control(int epoll, int operation, int fd, std::uint64_t who, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = who;
  if (epoll_ctl(epoll, operation, fd, &event) != 0) throw_errno("epoll_ctl");
}

isolation::Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

Replicas::Replicas(ReplicasParams params)
    : params_(std::move(params)),
      api_(http2::Api::open()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      balancer_(params_.balancer) {
  if (epoll_ < 0 || timer_ < 0) throw_errno("epoll_create1");
  control(epoll_, EPOLL_CTL_ADD, timer_, of_timer, EPOLLIN);
  control(epoll_, EPOLL_CTL_ADD, bell_.fd(), of_bell, EPOLLIN);
}

Replicas::~Replicas() {
  servers_.clear();
  if (timer_ >= 0) close(timer_);
  if (epoll_ >= 0) close(epoll_);
}

void Replicas::set_replicas(const std::string& model,
                            const std::vector<std::pair<std::string, double>>& replicas) {
  std::vector<ServerAddress> addresses;
  for (const auto& [address, load] : replicas) addresses.push_back(ServerAddress::of(address));
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ns();
  std::vector<routing::Replica> rows;
  std::vector<routing::Number> numbers;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const routing::Number number = balancer_.server(addresses[i].text);
    if (static_cast<std::size_t>(number) == servers_.size())
      servers_.push_back(std::make_unique<Server>(Server{.address = std::move(addresses[i])}));
    rows.push_back({number, replicas[i].second});
    numbers.push_back(number);
  }
  balancer_.set_replicas(balancer_.model(model), rows);
  models_[model] = std::move(numbers);
  for (const auto& server : servers_) server->is_wanted = false;
  for (const auto& [name, own] : models_)
    for (const routing::Number number : own)
      servers_[static_cast<std::size_t>(number)]->is_wanted = true;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& server = *servers_[i];
    if (server.is_wanted && server.line == nullptr && server.connect_ns == 0)
      connect(static_cast<routing::Number>(i), now);
    leave(server);
  }
  settle(now);
}

std::vector<routing::ServerCounts> Replicas::counts() const {
  const std::lock_guard lock(mutex_);
  return balancer_.counts(now_ns());
}

std::vector<std::string> Replicas::reached() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (const auto& server : servers_)
    if (server->was_up) found.push_back(server->address.text);
  return found;
}

std::size_t Replicas::in_flight() const {
  const std::lock_guard lock(mutex_);
  return pending_.size();
}

// --- queries ---

isolation::QueryLink::Sent Replicas::submit(const isolation::LinkedQuery& query,
                                            std::shared_ptr<isolation::AnswerSink> sink,
                                            std::uint64_t number, std::uint64_t& tag) {
  const QueryHead head = QueryHead::of(query.content);
  Pending pending{.sink = std::move(sink),
                  .number = number,
                  .query = query,
                  .trace_parent = std::string(query.trace_parent)};
  if (query.owner == nullptr) {
    const auto copy = std::make_shared<std::string>(
        reinterpret_cast<const char*>(query.content.data()), query.content.size());
    pending.query.content = bytes_of(*copy);
    pending.query.owner = copy;
  }
  const std::lock_guard lock(mutex_);
  const std::string model(head.model);
  if (!models_.contains(model)) return Sent::gone;
  const std::int64_t now = now_ns();
  const auto sent = balancer_.send(balancer_.model(model), now, query.deadline_ns, head.sequence);
  if (!sent) return Sent::gone;
  tag = ++last_tag_;
  pending.ticket = sent->ticket;
  pending.server = sent->server;
  put(tag, pending_.emplace(tag, std::move(pending)).first->second, now);
  settle(now);
  if (!told_.empty()) bell_.ring();
  return Sent::yes;
}

/// Puts it on its server's line.
void Replicas::put(std::uint64_t tag, Pending& pending, std::int64_t now_ns) {
  tag_of_ticket_.emplace(pending.ticket, tag);
  pending.query.trace_parent = pending.trace_parent;
  const Server& server = *servers_[static_cast<std::size_t>(pending.server)];
  if (server.line == nullptr) {
    ended_.push_back({pending.ticket,
                      {.status = unavailable, .text = server.address.text + " cannot be reached"},
                      true});
    return;
  }
  server.line->ask(pending.ticket, pending.query, now_ns);
  flush(pending.server, now_ns);
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

bool Replicas::pump() {
  std::vector<Told> told;
  {
    const std::lock_guard lock(mutex_);
    epoll_event events[most_events];
    const int count = epoll_wait(epoll_, events, most_events, 0);
    const std::int64_t now = now_ns();
    for (int i = 0; i < count; ++i) {
      const std::uint64_t who = events[i].data.u64;
      if (who == of_bell) {
        bell_.silence();
      } else if (who == of_timer) {
        std::uint64_t rings = 0;
        static_cast<void>(!read(timer_, &rings, sizeof rings));
        for (std::size_t n = 0; n < servers_.size(); ++n)
          if (servers_[n]->connect_ns != 0 && servers_[n]->connect_ns <= now)
            connect(static_cast<routing::Number>(n), now);
        arm();
      } else {
        const auto number = static_cast<routing::Number>(who);
        Server& server = *servers_[who];
        if (server.line == nullptr) continue;
        if (!server.line->take(events[i].events)) {
          lose(number, now);
          continue;
        }
        if (server.line->is_up() && !std::exchange(server.was_up, true)) {
          server.pause_ns = 0;
          balancer_.restored(number);
        }
        flush(number, now);
      }
    }
    settle(now);
    told.swap(told_);
  }
  for (Told& one : told) {
    const LineAnswer& answer = one.answer;
    one.sink->on_answer(one.number, {.status = answer.status,
                                     .content = answer.status == 0 ? answer.message.content()
                                                                   : bytes_of(answer.text),
                                     .owner = answer.message.memory});
  }
  return true;
}

}  // namespace engine::replicas
