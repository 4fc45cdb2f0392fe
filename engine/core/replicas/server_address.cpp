#include "replicas/server_address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace engine::replicas {

ServerAddress ServerAddress::of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    throw std::invalid_argument("address '" + text + "' is not host:port");
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), text.c_str() + colon + 1, &wanted, &found);
  if (error != 0) throw std::invalid_argument("address '" + text + "': " + gai_strerror(error));
  ServerAddress address{.text = text, .host = host, .size = found->ai_addrlen};
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

int ServerAddress::connect(std::int64_t unheard_ms) const {
  const int made = ::socket(bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) throw std::system_error(errno, std::generic_category(), "socket");
  const int yes = 1;
  const auto unheard = static_cast<unsigned>(unheard_ms);
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(made, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard, sizeof unheard);
  static_cast<void>(::connect(made, reinterpret_cast<const sockaddr*>(&bytes), size));
  return made;
}

Connecting connecting(int socket, std::uint32_t events, std::string& why) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    why = std::generic_category().message(error);
    return Connecting::failed;
  }
  return (events & EPOLLOUT) == 0 ? Connecting::waits : Connecting::done;
}

}  // namespace engine::replicas
