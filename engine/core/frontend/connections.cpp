// Who connects: accepted, watched, told to go.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "frontend/epoll.hpp"
#include "frontend/frontend.hpp"
#include "frontend/http1_connection.hpp"
#include "frontend/http2_connection.hpp"
#include "frontend/tls_transport.hpp"

namespace engine::frontend {

void Frontend::close_listeners() noexcept {
  listens_ = false;
  for (const Listener& listener : params_.listeners) close(listener.socket);
}

void Frontend::accept_all(const Listener& listener) {
  while (listens_) {
    sockaddr_storage address{};
    socklen_t address_bytes = sizeof address;
    const int socket = accept4(listener.socket, reinterpret_cast<sockaddr*>(&address),
                               &address_bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
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
    open_connection(socket, listener.speaks, client_of(address));
  }
}

void Frontend::open_connection(int socket, Speaks speaks, std::string client) {
  const bool is_full = open_of(speaks) >= params_.most_connections;
  if (!clients_.has_room(client)) {
    close(socket);
    return;
  }
  if (is_full && (speaks == Speaks::grpc || !make_room(speaks))) {
    close(socket);
    return;
  }
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  Connection& opened =
      enter(made(transport_of(socket, speaks), ++last_connection_, speaks), speaks);
  clients_.enter(client);
  opened.client = std::move(client);
}

/// Listens to it from now on.
Connection& Frontend::enter(std::unique_ptr<Connection> connection, Speaks group) {
  connection->group = group;
  connection->last_used = ++last_use_;
  connection->events = EPOLLIN;
  connection->watched_by = connection->is_agreed() ? epoll_ : handshakes_;
  watch(connection->watched_by, connection->socket(), connection->number(), connection->events,
        EPOLL_CTL_ADD);
  touch(*connection);
  const std::uint64_t number = connection->number();
  ++open_of(group);
  return *connections_.emplace(number, std::move(connection)).first->second;
}

std::unique_ptr<Connection> Frontend::made(std::unique_ptr<Transport> transport,
                                           std::uint64_t number, Speaks speaks) {
  CallHandler& handler = *this;
  switch (speaks) {
    case Speaks::grpc:
      return std::make_unique<Http2Connection>(*api_, std::move(transport), number,
                                               params_.connection, handler);
    case Speaks::rest:
      return std::make_unique<Http1Connection>(std::move(transport), number, params_.connection,
                                               handler);
    case Speaks::either:
      break;
  }
  return std::make_unique<OpeningConnection>(std::move(transport), number);
}

/// Puts one that speaks it in the place of one that was to find out.
void Frontend::go_on_as(OpeningConnection& opening, Speaks speaks) {
  const std::string first = opening.first();
  std::unique_ptr<Connection> connection = made(opening.release(), opening.number(), speaks);
  connection->group = opening.group;
  connection->last_used = opening.last_used;
  connection->events = opening.events;
  connection->client = opening.client;
  connection->watched_by = opening.watched_by;
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
/// has a query. So whoever connects is heard, beside any number of others who say nothing.
bool Frontend::make_room(Speaks group) {
  std::vector<Connection*> idle;
  for (const auto& [number, connection] : connections_)
    if (connection->group == group && !connection->has_query()) idle.push_back(connection.get());
  const std::size_t part = std::min(idle.size(), part_of(params_.most_connections));
  std::ranges::partial_sort(idle, idle.begin() + static_cast<std::ptrdiff_t>(part), {},
                            &Connection::last_used);
  for (std::size_t i = 0; i < part; ++i) close_connection(*idle[i]);
  return part > 0;
}

std::unique_ptr<Transport> Frontend::transport_of(int socket, Speaks speaks) {
  // As ALPN has them.
  static constexpr std::string_view http2("\x02h2"), http1("\x08http/1.1"),
      both("\x02h2\x08http/1.1");
  const std::lock_guard lock(tls_mutex_);
  if (tls_ == nullptr) return std::make_unique<PlainTransport>(socket);
  const std::string_view protocols = speaks == Speaks::grpc   ? http2
                                     : speaks == Speaks::rest ? http1
                                                              : both;
  return std::make_unique<TlsTransport>(tls_, socket, protocols);
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
    if (!connection->end_slow(now_ns)) {
      over.push_back(connection.get());
      continue;
    }
    if (connection->call_count() > 0 || connection->may_be_silent()) {
      touch(*connection);  // it may have something to say by itself
      continue;
    }
    // REST's end by themselves, and for others. A handshake ends, whatever trickles in of it.
    const std::int64_t quiet_ns = now_ns - connection->quiet_since_ns();
    const bool begins =
        connection->group != Speaks::rest ? !connection->has_spoken() : !connection->is_agreed();
    const bool is_mute = begins && now_ns - connection->opened_ns() > params_.handshake_ns;
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
    watch(connection.watched_by, connection.socket(), connection.number(), events, EPOLL_CTL_MOD);
  }
}

void Frontend::close_connection(Connection& connection) {
  std::erase(dirty_, &connection);
  --open_of(connection.group);
  clients_.leave(connection.client);
  connections_.erase(connection.number());
}

}  // namespace engine::frontend
