#include "frontend/frontend.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "frontend/http1_connection.hpp"
#include "frontend/http2_connection.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/machine.hpp"

namespace engine::frontend {

namespace {

constexpr std::size_t buffer_bytes = 256 * 1024;
constexpr int most_events = 64;
constexpr int sweep_ms = 1000;
constexpr std::int64_t last_runs_ns = 1'000'000'000;

// Who of the descriptors is ready; connections are numbered from 1 on.
constexpr std::uint64_t of_replies = ~std::uint64_t{0}, of_finished = of_replies - 1,
                        first_listener = std::uint64_t{1} << 62;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void watch(int epoll, int fd, std::uint64_t who, std::uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = who;
  if (epoll_ctl(epoll, operation, fd, &event) != 0) throw_errno("epoll_ctl");
}

}  // namespace

Frontend::Frontend(const FrontendParams& params)
    : params_(params),
      api_(http2::Api::open()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      buffer_(std::make_unique<std::byte[]>(buffer_bytes)) {
  if (epoll_ < 0) throw_errno("epoll_create1");
  for (std::size_t i = 0; i < params_.listeners.size(); ++i)
    watch(epoll_, params_.listeners[i].socket, first_listener + i, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, replies_.fd(), of_replies, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, finished_->fd(), of_finished, EPOLLIN, EPOLL_CTL_ADD);
  thread_ = std::thread([this] { serve(); });
}

Frontend::~Frontend() {
  stop(0);
  if (epoll_ >= 0) close(epoll_);
  if (spare_ >= 0) close(spare_);
}

void Frontend::abandon() noexcept {
  drain();
  // relaxed: the thread looks when it is woken
  abandons_.store(true, std::memory_order_relaxed);
  replies_.ring();
}

void Frontend::end_receipts() noexcept {
  // relaxed: the thread looks when it is woken
  ends_receipts_.store(true, std::memory_order_relaxed);
  replies_.ring();
}

void Frontend::stop(std::int64_t grace_ns) noexcept {
  if (!thread_.joinable()) return;
  drain();
  stop_by_ns_.store(now_ns() + grace_ns, std::memory_order_relaxed);  // relaxed: before the next
  stopping_.store(true, std::memory_order_release);  // release: with the time of its end
  replies_.ring();
  thread_.join();
}

void Frontend::serve() noexcept {
  pthread_setname_np(pthread_self(), "front end");
  for (;;) {
    try {
      wait_for_events();
      flush_dirty();
    } catch (const std::bad_alloc&) {
      // What was being done is lost, the others go on.
    }
    // acquire: with the time of its end
    if (!stopping_.load(std::memory_order_acquire)) continue;
    if (listens_) {
      close_listeners();
      for (const auto& [number, connection] : connections_) {
        connection->say_goodbye();
        touch(*connection);
      }
      flush_dirty();
    }
    // relaxed: see stop()
    if (places_.empty() || now_ns() >= stop_by_ns_.load(std::memory_order_relaxed)) break;
  }
  connections_.clear();
  for (const auto& [tag, flight] : flights_) flight.run->cancel();
  // What does not end even so is left to its lane.
  const std::int64_t until_ns = now_ns() + last_runs_ns;
  while (!flights_.empty() && now_ns() < until_ns) wait_for_events();
  flights_.clear();
}

void Frontend::wait_for_events() {
  epoll_event events[most_events];
  // relaxed: a moment later does, too
  const bool ends = stopping_.load(std::memory_order_relaxed);
  const int count = epoll_wait(epoll_, events, most_events, ends ? 10 : sweep_ms);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t who = events[i].data.u64;
    if (who == of_replies) {
      take_replies();
    } else if (who == of_finished) {
      continue;
    } else if (who >= first_listener) {
      accept_all(params_.listeners[who - first_listener]);
    } else {
      const auto found = connections_.find(who);
      if (found == connections_.end()) continue;
      Connection& connection = *found->second;
      touch(connection);
      if ((events[i].events & ~std::uint32_t{EPOLLOUT}) == 0) continue;
      const bool has_gone = !connection.wants_more();  // else what came is read first
      if (has_gone || !connection.read({buffer_.get(), buffer_bytes})) {
        static_cast<void>(connection.flush());  // it may be told why
        close_connection(connection);
      } else if (auto* const opening = dynamic_cast<OpeningConnection*>(&connection)) {
        if (const auto speaks = opening->speaks()) go_on_as(*opening, *speaks);
      }
    }
  }
  take_finished();
  if (const std::int64_t now = coarse_now_ns();
      now - swept_ns_ >= sweep_ms * std::int64_t{1'000'000})
    sweep(now);
}

void Frontend::close_listeners() noexcept {
  listens_ = false;
  for (const Listener& listener : params_.listeners) close(listener.socket);
}

void Frontend::accept_all(const Listener& listener) {
  while (listens_) {
    const int socket = accept4(listener.socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE) {
        // Else the listener would wake us for ever.
        close(std::exchange(spare_, -1));
        const int unwanted = accept4(listener.socket, nullptr, nullptr, SOCK_CLOEXEC);
        if (unwanted >= 0) close(unwanted);
        spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
      }
      return;
    }
    open_connection(socket, listener.speaks);
  }
}

void Frontend::open_connection(int socket, Speaks speaks) {
  const bool is_full = open_of(speaks) >= params_.most_connections;
  if (is_full && (speaks == Speaks::grpc || !make_room(speaks))) {
    close(socket);
    return;
  }
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const std::uint64_t number = ++last_connection_;
  std::unique_ptr<Connection> connection = made(socket, number, speaks);
  connection->group = speaks;
  connection->last_used = ++last_use_;
  connection->events = EPOLLIN;
  watch(epoll_, socket, number, connection->events, EPOLL_CTL_ADD);
  touch(*connection);
  connections_.emplace(number, std::move(connection));
  ++open_of(speaks);
}

std::unique_ptr<Connection> Frontend::made(int socket, std::uint64_t number, Speaks speaks) {
  CallHandler& handler = *this;
  switch (speaks) {
    case Speaks::grpc:
      return std::make_unique<Http2Connection>(api_, socket, number, params_.connection, handler);
    case Speaks::rest:
      return std::make_unique<Http1Connection>(socket, number, params_.connection, handler);
    case Speaks::either:
      break;
  }
  return std::make_unique<OpeningConnection>(socket, number);
}

/// Puts one that speaks it in the place of one that was to find out.
void Frontend::go_on_as(OpeningConnection& opening, Speaks speaks) {
  const std::string first = opening.first();
  std::unique_ptr<Connection> connection = made(opening.release(), opening.number(), speaks);
  connection->group = opening.group;
  connection->last_used = opening.last_used;
  connection->events = opening.events;
  std::erase(dirty_, &opening);
  std::unique_ptr<Connection>& place = connections_.at(connection->number());
  place = std::move(connection);
  Connection& now = *place;
  touch(now);
  if (now.hear({reinterpret_cast<const std::byte*>(first.data()), first.size()})) return;
  static_cast<void>(now.flush());
  close_connection(now);
}

/// Closes an eighth of the connections: those whose last request was longest ago, and none that
/// waits for an answer. So whoever connects is heard, beside any number of others who say nothing.
bool Frontend::make_room(Speaks group) {
  std::vector<Connection*> idle;
  for (const auto& [number, connection] : connections_)
    if (connection->group == group && !connection->is_answering()) idle.push_back(connection.get());
  const std::size_t part = std::min(idle.size(), part_of(params_.most_connections));
  std::ranges::partial_sort(idle, idle.begin() + static_cast<std::ptrdiff_t>(part), {},
                            &Connection::last_used);
  for (std::size_t i = 0; i < part; ++i) close_connection(*idle[i]);
  return part > 0;
}

/// Ends connections on which nothing happens.
void Frontend::sweep(std::int64_t now_ns) {
  swept_ns_ = now_ns;
  std::vector<Connection*> over;
  for (const auto& [number, connection] : connections_) {
    if (!connection->end_slow(now_ns)) {
      over.push_back(connection.get());
      continue;
    }
    if (connection->call_count() > 0) {
      touch(*connection);
      continue;
    }
    // REST's end by themselves, and for others.
    const std::int64_t quiet_ns = now_ns - connection->quiet_since_ns();
    const bool is_mute = connection->group != Speaks::rest && !connection->has_spoken() &&
                         quiet_ns > params_.handshake_ns;
    const bool is_idle =
        connection->group == Speaks::grpc && params_.idle_ns > 0 && quiet_ns > params_.idle_ns;
    if (is_mute || is_idle) over.push_back(connection.get());
  }
  for (Connection* const connection : over) {
    connection->say_goodbye();
    static_cast<void>(connection->flush());
    close_connection(*connection);
  }
}

void Frontend::touch(Connection& connection) {
  if (std::exchange(connection.is_dirty, true)) return;
  dirty_.push_back(&connection);
}

void Frontend::flush_dirty() {
  while (!dirty_.empty()) {
    Connection& connection = *dirty_.back();
    dirty_.pop_back();
    connection.is_dirty = false;
    if (!connection.flush()) {
      close_connection(connection);
      continue;
    }
    const std::uint32_t events = (connection.wants_more() ? EPOLLIN : EPOLLRDHUP) |
                                 (connection.is_blocked() ? EPOLLOUT : 0U);
    if (events == connection.events) continue;
    connection.events = events;
    watch(epoll_, connection.socket(), connection.number(), events, EPOLL_CTL_MOD);
  }
}

void Frontend::close_connection(Connection& connection) {
  std::erase(dirty_, &connection);
  --open_of(connection.group);
  connections_.erase(connection.number());
}

Frontend::Place Frontend::find(std::uint64_t token) noexcept {
  const auto found = places_.find(token);
  return found == places_.end() ? Place{} : found->second;
}

}  // namespace engine::frontend
