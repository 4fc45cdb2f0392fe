#include "frontend/frontend.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "frontend/epoll.hpp"
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

}  // namespace

Frontend::Frontend(const FrontendParams& params)
    : params_(params),
      api_(params.listeners.empty() ? nullptr : &http2::Api::open()),
      tls_(params.tls),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      handshakes_(epoll_create1(EPOLL_CLOEXEC)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      clients_(params.most_of_a_client),
      buffer_(std::make_unique<std::byte[]>(buffer_bytes)) {
  if (epoll_ < 0 || handshakes_ < 0) throw_errno("epoll_create1");
  watch(epoll_, handshakes_, of_handshakes, EPOLLIN, EPOLL_CTL_ADD);
  for (std::size_t i = 0; i < params_.listeners.size(); ++i)
    watch(epoll_, params_.listeners[i].socket, first_listener + i, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, replies_.fd(), of_replies, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, finished_->fd(), of_finished, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, new_workers_.fd(), of_workers, EPOLLIN, EPOLL_CTL_ADD);
  if (params_.server.socket >= 0) connect_to_server();
  thread_ = std::thread([this] { serve(); });
}

/// The only one that asks, where this process runs models for another one.
void Frontend::connect_to_server() {
  enter(std::make_unique<WorkerConnection>(params_.server, ++last_connection_,
                                           static_cast<CallHandler&>(*this)),
        Speaks::grpc);
}

void Frontend::watch_worker(const isolation::QueryLink& worker, std::uint64_t number) const {
  watch(epoll_, worker.fd(), first_worker + number, EPOLLIN, EPOLL_CTL_ADD);
}

void Frontend::forget_worker(const isolation::QueryLink& worker) const noexcept {
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
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) {
    const bool has_gone = !connection.wants_more();  // else what came is read first
    if (has_gone || !connection.read({buffer_.get(), buffer_bytes})) {
      static_cast<void>(connection.flush());  // it may be told why
      return close_connection(connection);
    }
  }
  if (connection.watched_by == handshakes_ && connection.is_agreed()) {
    watch(handshakes_, connection.socket(), number, 0, EPOLL_CTL_DEL);
    connection.watched_by = epoll_;
    watch(epoll_, connection.socket(), number, connection.events, EPOLL_CTL_ADD);
  }
  if (auto* const opening = dynamic_cast<OpeningConnection*>(&connection))
    if (const auto speaks = opening->speaks()) go_on_as(*opening, *speaks);
}

Frontend::Place Frontend::find(std::uint64_t token) noexcept {
  const auto found = places_.find(token);
  return found == places_.end() ? Place{} : found->second;
}

}  // namespace engine::frontend
