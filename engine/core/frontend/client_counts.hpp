// How many connections each client address has.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <unordered_map>

namespace engine::frontend {

/// One thread at a time. Remembers only addresses that have a connection.
class ClientCounts {
 public:
  /// So many connections of an address; 0: any number, and nothing is remembered.
  explicit ClientCounts(std::size_t most) noexcept : most_(most) {}

  /// False where it has as many as it may.
  [[nodiscard]] bool has_room(const std::string& client) const;
  /// One more of that client.
  void enter(const std::string& client);
  /// One fewer.
  void leave(const std::string& client) noexcept;

 private:
  const std::size_t most_;
  std::unordered_map<std::string, std::size_t> counts_;
};

/// The bytes of an IPv4 address, or the first half of an IPv6 address, which is a network that one
/// host may have as a whole; empty for others.
[[nodiscard]] std::string client_of(const sockaddr_storage& address);

}  // namespace engine::frontend
