#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/tls_transport.hpp"
#include "test.hpp"
#include "tls_fixtures.hpp"

namespace tls_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

constexpr long tls_1_2 = 0x0303, tls_1_3 = 0x0304;

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Both ends of a connection.
struct Both {
  explicit Both(long version, std::string_view protocols = "\x02h2")
      : Both(pair(), version, protocols) {}
  Both(std::array<int, 2> ends, long version, std::string_view protocols)
      : server(std::make_shared<const tls::Context>(MadeCertificate().files), ends[0], protocols),
        client_socket(ends[1]),
        client(ends[1], version) {}
  ~Both() { close(client_socket); }
  static std::array<int, 2> pair() {
    std::array<int, 2> ends{};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    return ends;
  }
  using MadeCertificate = test::MadeCertificate;

  /// What the server takes, decrypted, until nothing more is there; false once it is over.
  bool take() {
    for (;;) {
      const auto count = server.receive(buffer);
      if (!count) return false;
      taken.append(reinterpret_cast<const char*>(buffer.data()), *count);
      OutQueue nothing;
      if (!server.send(nothing)) return false;
      if (*count < buffer.size()) return true;
    }
  }
  void agree() {
    for (int i = 0; i < 10 && !(client.handshake() && server.is_agreed()); ++i) CHECK(take());
    CHECK(server.is_agreed());
  }

  TlsTransport server;
  int client_socket;
  test::TlsClient client;
  std::vector<std::byte> buffer = std::vector<std::byte>(256 * 1024);
  std::string taken;
};

std::string pattern(std::size_t bytes) {
  std::string made(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<char>(i * 7 + i / 251);
  return made;
}

}  // namespace

TEST(tls_carries_what_is_sent_both_ways) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  for (const long version : {tls_1_2, tls_1_3}) {
    Both both(version);
    both.agree();
    CHECK(both.client.protocol() == "h2");
    const std::string text = pattern(100'000);
    for (std::size_t at = 0; at < text.size();) {
      const int count = both.client.write(text.data() + at, static_cast<int>(text.size() - at));
      if (count > 0) at += static_cast<std::size_t>(count);
      CHECK(both.take());
    }
    CHECK(both.taken == text);
  }
}

/// A client that reads a little at a time gets small pieces, large ones and memory of others.
TEST(tls_sends_all_of_a_queue_in_order) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  Both both(tls_1_3);
  both.agree();
  OutQueue out;
  std::string wanted;
  for (const std::size_t bytes : {9UL, 3UL, 20'000UL, 1UL, 700'000UL, 16'384UL, 100UL}) {
    const auto piece = std::make_shared<std::string>(pattern(bytes));
    out.append(bytes_of(*piece), piece);
    out.append(bytes_of("and"));
    wanted += *piece + "and";
  }
  std::string found;
  char buffer[5000];
  bool was_blocked = false;
  while (found.size() < wanted.size()) {
    CHECK(both.server.send(out));
    was_blocked = was_blocked || both.server.is_blocked();
    const int count = both.client.read(buffer, sizeof buffer);
    if (count > 0) found.append(buffer, static_cast<std::size_t>(count));
  }
  CHECK(found == wanted && was_blocked && out.empty() && !both.server.is_blocked());
}

TEST(tls_says_nothing_before_both_agree) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  Both both(tls_1_3);
  OutQueue out;
  out.append(bytes_of("early"));
  CHECK(both.server.send(out) && out.bytes() == 5 && !both.server.is_blocked());
}

TEST(tls_ends_with_who_speaks_nothing_that_we_do) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  Both both(tls_1_3, "\x08http/1.1");
  bool goes_on = true;
  for (int i = 0; i < 10 && goes_on; ++i) {
    static_cast<void>(both.client.handshake());
    goes_on = both.take();
  }
  CHECK(!goes_on && !both.server.is_agreed());
}

TEST(tls_is_not_begun_anew) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  Both both(tls_1_2);
  both.agree();
  static_cast<void>(both.client.renegotiate());
  bool is_done = false;
  for (int i = 0; i < 10 && !is_done && both.take(); ++i) is_done = both.client.handshake();
  CHECK(!is_done);
}

/// Each wish for new keys is answered; who does not read the answers is cut off.
TEST(tls_keeps_little_for_who_does_not_read) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  Both both(tls_1_3);
  both.agree();
  bool goes_on = true;
  for (int i = 0; i < 200'000 && goes_on; ++i) {
    static_cast<void>(both.client.change_keys());
    goes_on = both.take();
  }
  CHECK(!goes_on);
}

TEST(hellos_are_looked_at_wherever_they_are_cut) {
  const auto is_fine = [](std::string_view hello, std::size_t cut) {
    HelloCheck check;
    return check.take(bytes_of(hello.substr(0, cut))) && check.take(bytes_of(hello.substr(cut)));
  };
  constexpr std::string_view usual("\x16\x03\x01\x02\x00\x01\x00\x01\xFCmore", 13),
      huge("\x16\x03\x01\x40\x00\x01\x02\x00\x00more", 13),
      in_pieces("\x16\x03\x01\x00\x03\x01\x00\x01\xFC", 9), other("GET / HTTP/1.1", 14);
  for (std::size_t cut = 0; cut <= 9; ++cut) {
    CHECK(is_fine(usual, cut) && is_fine(other, cut));
    CHECK(!is_fine(huge, cut) && !is_fine(in_pieces, cut));
  }
}

}  // namespace tls_tests
