// Connections over which servers are asked by REST: which one is asked, and what their ends cost.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "http1/request_parser.hpp"
#include "replicas/rest_lines.hpp"
#include "test.hpp"

namespace rest_lines_tests {

using namespace engine;
using namespace engine::replicas;

namespace {

const bool is_there = http1::RequestParser::missing().empty();
constexpr int patience_ms = 30'000;  // only a hang reaches it
constexpr std::int64_t second_ns = 1'000'000'000;

/// A server whose connections the test answers, and the lines to it.
struct Fixture final : LineSink {
  Fixture() : listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    CHECK(bind(listener, reinterpret_cast<sockaddr*>(&at), size) == 0 && listen(listener, 16) == 0);
    CHECK(getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    address = ServerAddress::of("127.0.0.1:" + std::to_string(ntohs(at.sin_port)));
  }
  ~Fixture() override {
    for (const int peer : peers) close(peer);
    close(listener);
    close(epoll);
  }
  void on_answer(std::uint64_t ticket, LineAnswer answer) override {
    answers.emplace(ticket, std::move(answer));
  }
  void ask(std::uint64_t ticket, bool may_repeat = true) {
    lines.ask(0, address,
              {.ticket = ticket, .head = "POST / HTTP/1.1\r\n", .may_repeat = may_repeat}, now_ns);
  }
  /// What epoll says, until that holds.
  template <typename Holds>
  void until(Holds&& holds) {
    while (!holds()) {
      pollfd waits[] = {{epoll, POLLIN, 0}, {listener, POLLIN, 0}};
      CHECK(poll(waits, 2, patience_ms) > 0);
      epoll_event events[16];
      const int count = epoll_wait(epoll, events, 16, 0);
      for (int i = 0; i < count; ++i) {
        CHECK(RestLines::is_one(events[i].data.u64));
        lines.take(events[i].data.u64, events[i].events, now_ns);
      }
      if (const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); peer >= 0)
        peers.push_back(peer);
    }
  }
  /// The server hears a whole query over that connection.
  void hear(std::size_t peer) {
    until([&] { return peers.size() > peer; });
    std::string heard;
    while (heard.find("\r\n\r\n") == heard.npos) {
      pollfd waits{peers[peer], POLLIN, 0};
      if (poll(&waits, 1, 0) == 0) {
        pump();
        continue;
      }
      char some[1000];
      const ssize_t count = read(peers[peer], some, sizeof some);
      CHECK(count > 0);
      heard.append(some, static_cast<std::size_t>(count));
    }
  }
  void pump() {
    epoll_event events[16];
    const int count = epoll_wait(epoll, events, 16, 1);
    for (int i = 0; i < count; ++i) lines.take(events[i].data.u64, events[i].events, now_ns);
  }
  void answer(std::size_t peer, std::uint64_t ticket) {
    const std::string said = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    CHECK(write(peers[peer], said.data(), said.size()) == static_cast<ssize_t>(said.size()));
    until([&] { return answers.contains(ticket); });
    CHECK(answers.at(ticket).http_status == 200);
  }

  int listener;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  ServerAddress address;
  std::int64_t now_ns = second_ns;
  const LineParams params{};
  RestLines lines{params, epoll, *this};
  std::vector<int> peers;
  std::map<std::uint64_t, LineAnswer> answers;
};

}  // namespace

TEST(a_connection_that_has_answered_is_asked_again_and_others_are_made_while_it_is_asked) {
  if (!is_there) return;
  Fixture fixture;
  fixture.ask(1);
  fixture.ask(2);
  fixture.hear(0);
  fixture.hear(1);
  fixture.answer(0, 1);
  fixture.ask(3);
  fixture.hear(0);
  fixture.answer(0, 3);
  fixture.answer(1, 2);
  CHECK(fixture.peers.size() == 2);
  // Not one that had nothing to do for long.
  fixture.now_ns += 11 * second_ns;
  fixture.ask(4);
  fixture.hear(2);
  fixture.answer(2, 4);
  CHECK(fixture.peers.size() == 3);
}

TEST(a_query_whose_connection_had_ended_is_asked_over_a_new_one_unless_it_is_of_a_sequence) {
  if (!is_there) return;
  for (const bool may_repeat : {true, false}) {
    Fixture fixture;
    fixture.ask(1);
    fixture.hear(0);
    fixture.answer(0, 1);
    fixture.ask(2, may_repeat);  // before anybody hears that it has ended
    close(std::exchange(fixture.peers[0], -1));
    if (may_repeat) {
      fixture.hear(1);
      fixture.answer(1, 2);
    } else {
      fixture.until([&] { return fixture.answers.contains(2); });
      CHECK(fixture.answers.at(2).status == 14);
      CHECK(fixture.answers.at(2).text.starts_with(fixture.address.text));
    }
  }
}

TEST(a_query_that_nobody_waits_for_ends_its_connection) {
  if (!is_there) return;
  Fixture fixture;
  fixture.ask(1);
  fixture.hear(0);
  fixture.lines.forget(1);
  char byte = 0;
  CHECK(read(fixture.peers[0], &byte, 1) == 0);
  fixture.ask(2);
  fixture.hear(1);
  fixture.answer(1, 2);
  CHECK(!fixture.answers.contains(1));
}

TEST(all_that_is_asked_of_a_server_that_is_dropped_has_failed_for_that_reason) {
  if (!is_there) return;
  Fixture fixture;
  fixture.ask(1);
  fixture.ask(2);
  fixture.hear(0);
  fixture.answer(0, 1);
  fixture.ask(3);
  fixture.lines.drop(0, "it is gone");
  for (const std::uint64_t ticket : {2, 3}) {
    CHECK(fixture.answers.at(ticket).status == 14 && fixture.answers.at(ticket).http_status == 0);
    CHECK(fixture.answers.at(ticket).text == "it is gone");
  }
}

TEST(a_server_that_cannot_be_reached_by_rest_is_said) {
  if (!is_there) return;
  Fixture fixture;
  close(std::exchange(fixture.listener, -1));
  fixture.ask(1);
  while (!fixture.answers.contains(1)) fixture.pump();
  CHECK(fixture.answers.at(1).status == 14);
  CHECK(fixture.answers.at(1).text.find(fixture.address.text) == 0);
}

}  // namespace rest_lines_tests
