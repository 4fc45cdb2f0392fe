#include <netdb.h>

#include <cstring>
#include <stdexcept>

#include "replicas/replica_line.hpp"

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
  ServerAddress address{.text = text, .size = found->ai_addrlen};
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

}  // namespace engine::replicas
