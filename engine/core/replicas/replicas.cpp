#include "replicas/replicas.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "scheduler/clock.hpp"

namespace engine::replicas {

namespace {

constexpr int most_events = 64;
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

}  // namespace

Replicas::Replicas(ReplicasParams params)
    : params_(std::move(params)),
      api_(http2::Api::open()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      balancer_(params_.balancer),
      rest_(params_.line, epoll_, static_cast<LineSink&>(*this)) {
  if (epoll_ < 0 || timer_ < 0) throw_errno("epoll_create1");
  control(epoll_, EPOLL_CTL_ADD, timer_, of_timer, EPOLLIN);
  control(epoll_, EPOLL_CTL_ADD, bell_.fd(), of_bell, EPOLLIN);
}

Replicas::~Replicas() {
  servers_.clear();
  if (timer_ >= 0) close(timer_);
  if (epoll_ >= 0) close(epoll_);
}

void Replicas::set_replicas(const std::string& model, const std::vector<ReplicaPlace>& replicas) {
  std::vector<ServerAddress> addresses;
  std::vector<std::unique_ptr<ServerAddress>> rest;
  for (const ReplicaPlace& one : replicas) {
    addresses.push_back(ServerAddress::of(one.grpc));
    rest.push_back(one.rest.empty() ? nullptr
                                    : std::make_unique<ServerAddress>(ServerAddress::of(one.rest)));
  }
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ns();
  std::vector<routing::Replica> rows;
  std::vector<routing::Number> numbers;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    numbers.push_back(enter(std::move(addresses[i]), std::move(rest[i])));
    rows.push_back({numbers.back(), replicas[i].load});
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
  if (!told_.empty()) bell_.ring();
}

/// The number of a server, which is new or known.
routing::Number Replicas::enter(ServerAddress address, std::unique_ptr<ServerAddress> rest) {
  const routing::Number number = balancer_.server(address.text);
  if (static_cast<std::size_t>(number) == servers_.size())
    servers_.push_back(std::make_unique<Server>(Server{.address = std::move(address)}));
  Server& server = *servers_[static_cast<std::size_t>(number)];
  const auto text_of = [](const auto& known) { return known == nullptr ? "" : known->text; };
  if (text_of(server.rest_address) != text_of(rest)) {
    rest_.drop(number, server.address.text + " is asked elsewhere by REST from now on");
    server.rest_address = std::move(rest);
  }
  return number;
}

bool Replicas::takes_rest(const std::vector<routing::Number>& servers) const {
  return std::ranges::all_of(servers, [&](routing::Number number) {
    return servers_[static_cast<std::size_t>(number)]->rest_address != nullptr;
  });
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

bool Replicas::pump() {
  std::vector<Told> told;
  {
    const std::lock_guard lock(mutex_);
    epoll_event events[most_events];
    const int count = epoll_wait(epoll_, events, most_events, 0);
    const std::int64_t now = now_ns();
    bool is_time = false;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t who = events[i].data.u64;
      if (who == of_bell) {
        bell_.silence();
      } else if (who == of_timer) {
        std::uint64_t rings = 0;
        static_cast<void>(!read(timer_, &rings, sizeof rings));
        is_time = true;
      } else if (RestLines::is_one(who)) {
        rest_.take(who, events[i].events, now);
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
          server.is_silent = false;
          balancer_.restored(number);
        }
        flush(number, now);
      }
    }
    if (is_time) wake(now);  // behind what has come: who has spoken lives
    settle(now);
    told.swap(told_);
  }
  for (Told& one : told) {
    const LineAnswer& answer = one.answer;
    const bool has_message = answer.status == 0 || answer.http_status != 0;
    one.sink->on_answer(one.number,
                        {.status = answer.status,
                         .content = has_message ? answer.message.content() : bytes_of(answer.text),
                         .owner = answer.message.memory,
                         .http_status = answer.http_status,
                         .fields = answer.fields});
  }
  return true;
}

}  // namespace engine::replicas
