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

#include "frontend/http2_connection.hpp"
#include "frontend/tls_transport.hpp"
#include "frontend/worker_connection.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/machine.hpp"

namespace engine::frontend {

namespace {

constexpr std::size_t buffer_bytes = 256 * 1024;
constexpr int most_events = 64;
/// Each may take a millisecond of arithmetic; who is connected does not wait for all of them.
constexpr int most_handshakes = 4;
constexpr int sweep_ms = 1000;
constexpr std::int64_t last_runs_ns = 1'000'000'000;

// Who of the descriptors is ready; connections are numbered from 1 on.
constexpr std::uint64_t of_replies = ~std::uint64_t{0}, of_finished = of_replies - 1,
                        of_handshakes = of_replies - 2, of_workers = of_replies - 3,
                        first_listener = std::uint64_t{1} << 62,
                        first_worker = std::uint64_t{1} << 61;

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
      api_(params.listeners.empty() ? nullptr : &http2::Api::open()),
      tls_(params.tls),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      handshakes_(epoll_create1(EPOLL_CLOEXEC)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      buffer_(std::make_unique<std::byte[]>(buffer_bytes)) {
  if (epoll_ < 0 || handshakes_ < 0) throw_errno("epoll_create1");
  watch(epoll_, handshakes_, of_handshakes, EPOLLIN, EPOLL_CTL_ADD);
  for (std::size_t i = 0; i < params_.listeners.size(); ++i)
    watch(epoll_, params_.listeners[i], first_listener + i, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, replies_.fd(), of_replies, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, finished_->fd(), of_finished, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, new_workers_.fd(), of_workers, EPOLLIN, EPOLL_CTL_ADD);
  if (params_.server.socket >= 0) connect_to_server();
  thread_ = std::thread([this] { serve(); });
}

/// The only one that asks, where this process runs models for another one.
void Frontend::connect_to_server() {
  const std::uint64_t number = ++last_connection_;
  auto made =
      std::make_unique<WorkerConnection>(params_.server, number, static_cast<CallHandler&>(*this));
  made->watched_by = epoll_;
  watch(epoll_, made->socket(), number, EPOLLIN, EPOLL_CTL_ADD);
  connections_.emplace(number, std::move(made));
}

void Frontend::watch_worker(const isolation::WorkerLink& worker, std::uint64_t number) const {
  watch(epoll_, worker.fd(), first_worker + number, EPOLLIN, EPOLL_CTL_ADD);
}

void Frontend::forget_worker(const isolation::WorkerLink& worker) const noexcept {
  static_cast<void>(epoll_ctl(epoll_, EPOLL_CTL_DEL, worker.fd(), nullptr));
}

Frontend::~Frontend() {
  stop(0);
  if (handshakes_ >= 0) close(handshakes_);
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
  cancel_all();
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
    } else if (who == of_handshakes) {
      wait_for_handshakes();
    } else if (who == of_workers) {
      take_workers();
    } else if (who >= first_listener) {
      accept_all(params_.listeners[who - first_listener]);
    } else if (who >= first_worker) {
      pump(who - first_worker);
    } else {
      on_socket(who, events[i].events);
    }
  }
  take_finished();
  if (const std::int64_t now = coarse_now_ns();
      now - swept_ns_ >= sweep_ms * std::int64_t{1'000'000})
    sweep(now);
}

void Frontend::wait_for_handshakes() {
  epoll_event events[most_handshakes];
  const int count = epoll_wait(handshakes_, events, most_handshakes, 0);
  for (int i = 0; i < count; ++i) on_socket(events[i].data.u64, events[i].events);
}

void Frontend::on_socket(std::uint64_t number, std::uint32_t events) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  touch(connection);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 &&
      !connection.read({buffer_.get(), buffer_bytes})) {
    static_cast<void>(connection.flush());  // it may be told why
    close_connection(connection);
  } else if (connection.watched_by == handshakes_ && connection.is_agreed()) {
    watch(handshakes_, connection.socket(), number, 0, EPOLL_CTL_DEL);
    connection.watched_by = epoll_;
    const std::uint32_t wanted = EPOLLIN | (connection.wants_write ? EPOLLOUT : 0U);
    watch(epoll_, connection.socket(), number, wanted, EPOLL_CTL_ADD);
  }
}

void Frontend::close_listeners() noexcept {
  listens_ = false;
  for (const int listener : params_.listeners) close(listener);
}

void Frontend::accept_all(int listener) {
  while (listens_) {
    const int socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE) {
        // Else the listener would wake us for ever.
        close(std::exchange(spare_, -1));
        const int unwanted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (unwanted >= 0) close(unwanted);
        spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
      }
      return;
    }
    if (connections_.size() >= params_.most_connections) {
      close(socket);
      continue;
    }
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const std::uint64_t number = ++last_connection_;
    auto made = std::make_unique<Http2Connection>(
        *api_, transport_of(socket), number, params_.connection, static_cast<CallHandler&>(*this));
    made->watched_by = made->is_agreed() ? epoll_ : handshakes_;
    watch(made->watched_by, socket, number, EPOLLIN, EPOLL_CTL_ADD);
    touch(*made);
    connections_.emplace(number, std::move(made));
  }
}

std::unique_ptr<Transport> Frontend::transport_of(int socket) {
  static constexpr std::string_view http2("\x02h2");
  const std::lock_guard lock(tls_mutex_);
  if (tls_ != nullptr) return std::make_unique<TlsTransport>(tls_, socket, http2);
  return std::make_unique<PlainTransport>(socket);
}

void Frontend::renew(std::shared_ptr<const tls::Context> tls) {
  const std::lock_guard lock(tls_mutex_);
  if (tls_ != nullptr) tls_ = std::move(tls);
}

/// Ends connections on which nothing happens.
void Frontend::sweep(std::int64_t now_ns) {
  swept_ns_ = now_ns;
  end_late(now_ns);
  std::vector<Connection*> over;
  for (const auto& [number, connection] : connections_) {
    if (connection->call_count() > 0) {
      touch(*connection);
      if (!connection->end_slow(now_ns)) over.push_back(connection.get());
      continue;
    }
    if (connection->may_be_silent()) {
      touch(*connection);  // it may have let go of memory meanwhile
      continue;
    }
    const std::int64_t quiet_ns = now_ns - connection->quiet_since_ns();
    // Whatever trickles in of a handshake.
    const bool is_mute =
        !connection->has_spoken() && now_ns - connection->opened_ns() > params_.handshake_ns;
    const bool is_idle = params_.idle_ns > 0 && quiet_ns > params_.idle_ns;
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
    } else if (connection.is_blocked() != connection.wants_write) {
      connection.wants_write = connection.is_blocked();
      const std::uint32_t events = EPOLLIN | (connection.wants_write ? EPOLLOUT : 0U);
      watch(connection.watched_by, connection.socket(), connection.number(), events, EPOLL_CTL_MOD);
    }
  }
}

void Frontend::close_connection(Connection& connection) {
  std::erase(dirty_, &connection);
  connections_.erase(connection.number());
}

Frontend::Place Frontend::find(std::uint64_t token) noexcept {
  const auto found = places_.find(token);
  return found == places_.end() ? Place{} : found->second;
}

}  // namespace engine::frontend
