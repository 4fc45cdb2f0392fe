#include "address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace loadgen {

namespace {

/// The reason's errno, 0 if a connection was made.
int tried(const Address& address, int timeout_ms) {
  const int socket = connecting_socket(address);
  pollfd waiting{socket, POLLOUT, 0};
  const int ready = ::poll(&waiting, 1, timeout_ms);
  const int error = ready > 0 ? connect_error(socket) : ETIMEDOUT;
  ::close(socket);
  return error;
}

}  // namespace

int connecting_socket(const Address& address) {
  const int socket =
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::system_error(errno, std::generic_category(), "socket");
  const int on = 1;  // requests are whole when they are written
  static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  // Its error is found where the others are: when the socket becomes ready.
  static_cast<void>(
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address.bytes), address.size));
  return socket;
}

int connect_error(int socket) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error != 0) return error;
  sockaddr_storage peer{};
  socklen_t peer_size = sizeof peer;
  const bool is_connected =
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0;
  return is_connected ? 0 : errno;
}

Address find_server(const std::string& host, std::uint16_t port, int timeout_ms) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) throw std::runtime_error(::gai_strerror(failed));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Address address;
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
    error = tried(address, timeout_ms);
    if (error == 0) return address;
  }
  throw std::runtime_error(std::generic_category().message(error));
}

}  // namespace loadgen
