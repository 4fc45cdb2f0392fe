#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <string>

#include "frontend/client_counts.hpp"
#include "test.hpp"

namespace client_counts_tests {

using namespace engine::frontend;

namespace {

std::string client(const char* text) {
  sockaddr_storage address{};
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    std::memcpy(&address, &v4, sizeof v4);
  } else {
    CHECK(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1);
    v6.sin6_family = AF_INET6;
    std::memcpy(&address, &v6, sizeof v6);
  }
  return client_of(address);
}

}  // namespace

TEST(clients_are_addresses_and_networks_of_hosts) {
  CHECK(client("10.0.0.1") != client("10.0.0.2") && client("10.0.0.1").size() == 4);
  CHECK(client("2001:db8:1:2::1") == client("2001:db8:1:2:ffff::9"));
  CHECK(client("2001:db8:1:2::1") != client("2001:db8:1:3::1"));
}

TEST(a_client_has_room_again_when_it_leaves) {
  ClientCounts counts(2);
  for (int i = 0; i < 2; ++i) {
    CHECK(counts.has_room("a"));
    counts.enter("a");
  }
  CHECK(!counts.has_room("a") && counts.has_room("b"));
  counts.leave("a");
  CHECK(counts.has_room("a"));
  counts.leave("b");  // of whom there is none
  ClientCounts any(0);
  for (int i = 0; i < 9; ++i) any.enter("a");
  CHECK(any.has_room("a"));
}

}  // namespace client_counts_tests
