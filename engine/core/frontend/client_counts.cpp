#include "frontend/client_counts.hpp"

#include <netinet/in.h>

#include <cstring>

namespace engine::frontend {

bool ClientCounts::has_room(const std::string& client) const {
  const auto found = counts_.find(client);
  return most_ == 0 || found == counts_.end() || found->second < most_;
}

void ClientCounts::enter(const std::string& client) {
  if (most_ > 0) ++counts_[client];
}

void ClientCounts::leave(const std::string& client) noexcept {
  const auto found = counts_.find(client);
  if (found == counts_.end() || --found->second > 0) return;
  counts_.erase(found);
}

std::string client_of(const sockaddr_storage& address) {
  const auto bytes_of = [&]<typename Address>(Address&& as, auto member, std::size_t bytes) {
    std::memcpy(&as, &address, sizeof as);
    return std::string(reinterpret_cast<const char*>(&(as.*member)), bytes);
  };
  if (address.ss_family == AF_INET)
    return bytes_of(sockaddr_in{}, &sockaddr_in::sin_addr, sizeof(in_addr));
  if (address.ss_family == AF_INET6)
    return bytes_of(sockaddr_in6{}, &sockaddr_in6::sin6_addr, sizeof(in6_addr) / 2);
  return {};
}

}  // namespace engine::frontend
