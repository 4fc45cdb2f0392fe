// The client's side of TLS, against our own server's.
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/tls_transport.hpp"
#include "test.hpp"
#include "tls_fixtures.hpp"

namespace tls_client_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Both ends of a connection, by a certificate that is believed.
class Pair {
 public:
  Pair(const test::MadeCertificate& shown, const tls::ClientFiles& believed,
       const std::string& host, std::string_view offered = "\x02h2") {
    std::array<int, 2> ends{};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    server = std::make_unique<TlsTransport>(std::make_shared<const tls::Context>(shown.files),
                                            ends[0], "\x02h2\x08http/1.1");
    client = std::make_unique<TlsTransport>(std::make_shared<const tls::ClientContext>(believed),
                                            ends[1], offered, host);
  }
  /// What the one end takes, decrypted; false once it is over.
  bool take(TlsTransport& end, std::string& taken) {
    OutQueue nothing;
    if (!end.send(nothing)) return false;
    const auto count = end.receive(buffer_);
    if (count) taken.append(reinterpret_cast<const char*>(buffer_.data()), *count);
    return count.has_value();
  }
  /// Goes on until both have agreed; false where one has ended it.
  bool agree() {
    std::string nothing;
    for (int i = 0; i < 10; ++i) {
      if (client->is_agreed() && server->is_agreed()) return true;
      if (!take(*client, nothing) || !take(*server, nothing)) break;
    }
    static_cast<void>(take(*client, nothing));
    return false;
  }
  std::string carried(TlsTransport& from, TlsTransport& to, const std::string& text) {
    OutQueue out;
    out.append(bytes_of(text));
    std::string taken;
    while (taken.size() < text.size()) CHECK(from.send(out) && take(to, taken));
    return taken;
  }

  std::unique_ptr<TlsTransport> server, client;

 private:
  std::vector<std::byte> buffer_ = std::vector<std::byte>(256 * 1024);
};

}  // namespace

TEST(tls_of_a_client_carries_what_is_sent_both_ways) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  const test::MadeCertificate own;
  for (const std::string_view offered : {"\x02h2", "\x08http/1.1"}) {
    Pair pair(own, {.ca = own.files.certificate}, "server", offered);
    CHECK(pair.client->is_blocked());  // it speaks first
    CHECK(pair.agree());
    const std::string text(300'000, 'a');
    CHECK(pair.carried(*pair.client, *pair.server, text) == text);
    CHECK(pair.carried(*pair.server, *pair.client, text) == text);
    CHECK(pair.client->why().empty());
  }
}

TEST(tls_of_a_client_believes_nobody_else) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  const test::MadeCertificate own, stranger;
  Pair unknown(stranger, {.ca = own.files.certificate}, "server");
  CHECK(!unknown.agree());
  CHECK(unknown.client->why().starts_with("TLS: certificate verify failed, "));
  for (const std::string host : {"other", "127.0.0.1", "server.example"}) {
    Pair other(own, {.ca = own.files.certificate}, host);
    CHECK(!other.agree());
    CHECK(other.client->why().find("mismatch") != std::string::npos);
  }
}

TEST(tls_of_a_client_shows_what_it_has) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  test::MadeCertificate own;
  own.files.client_ca = own.files.certificate;
  Pair shown(
      own,
      {.ca = own.files.certificate, .certificate = own.files.certificate, .key = own.files.key},
      "server");
  CHECK(shown.agree());
  CHECK(shown.server->certificate_names() != nullptr);
}

TEST(files_of_a_client_that_do_not_do_are_named) {
  if (lanes > 1 || !test::has_openssl()) return;  // lanes are none of it
  const test::MadeCertificate own, other;
  const std::string mine = own.files.certificate;
  const tls::ClientFiles refused[] = {{.ca = "/no/ca"},
                                      {.ca = own.files.key},
                                      {.ca = mine, .certificate = "/no/file", .key = own.files.key},
                                      {.ca = mine, .certificate = mine, .key = other.files.key}};
  const std::string named[] = {"/no/ca", own.files.key, "/no/file", other.files.key};
  for (std::size_t i = 0; i < std::size(refused); ++i) {
    std::string said;
    try {
      const tls::ClientContext context(refused[i]);
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    CHECK(said.find("'" + named[i] + "'") != std::string::npos);
  }
}

}  // namespace tls_client_tests
