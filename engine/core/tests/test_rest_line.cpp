// A connection over which a server is asked by REST, against a server's end that the test writes
// to.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/proto.hpp"
#include "http1/request_parser.hpp"
#include "replicas/rest_line.hpp"
#include "test.hpp"

namespace rest_line_tests {

using namespace engine;
using namespace engine::replicas;
using State = RestLine::State;

namespace {

const bool is_there = http1::RequestParser::missing().empty();

/// A line, and its server's end.
class Dialogue {
 public:
  explicit Dialogue(LineParams its_params = {}) : params_(std::move(its_params)) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_) == 0);
    line = std::make_unique<RestLine>(params_, address_,
                                      std::make_unique<frontend::PlainTransport>(ends_[0]));
  }
  ~Dialogue() { leave(); }
  void ask(const std::string& body) {
    const auto content = std::make_shared<std::string>(body);
    line->ask({.ticket = 1,
               .head = "POST /v2/models/m/infer HTTP/1.1\r\nContent-Type: a/b\r\n",
               .content = {reinterpret_cast<const std::byte*>(content->data()), content->size()},
               .owner = content});
  }
  State go_on() { return line->take(EPOLLIN | EPOLLOUT); }
  std::string heard() {
    std::string found;
    char some[4096];
    for (ssize_t count = 0; (count = read(ends_[1], some, sizeof some)) > 0;)
      found.append(some, static_cast<std::size_t>(count));
    return found;
  }
  State say(std::string_view bytes) {
    CHECK(write(ends_[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    return go_on();
  }
  void leave() {
    if (ends_[1] >= 0) close(std::exchange(ends_[1], -1));
  }
  std::string body_of(const LineAnswer& answer) {
    return std::string(frontend::text_of(answer.message.content()));
  }

  std::unique_ptr<RestLine> line;

 private:
  const LineParams params_;
  const ServerAddress address_{.text = "server:8000", .host = "server"};
  int ends_[2] = {-1, -1};
};

constexpr std::string_view fine =
    "HTTP/1.1 200 OK\r\nContent-Type: c/d\r\nInference-Header-Content-Length: 2\r\n"
    "endpoint-load-metrics: TEXT named_metrics.wait_ns=70\r\nServer: x\r\n"
    "Content-Length: 6\r\n\r\n{}abcd";

}  // namespace

TEST(a_query_over_rest_goes_as_it_is_and_its_answer_comes_as_it_is) {
  if (!is_there) return;
  Dialogue dialogue({.authorization = "Bearer me"});
  for (int round = 0; round < 3; ++round) {
    dialogue.ask("{}\x01\x02");
    CHECK(dialogue.go_on() == State::waits);
    CHECK(dialogue.heard() ==
          "POST /v2/models/m/infer HTTP/1.1\r\nContent-Type: a/b\r\nHost: server:8000\r\n"
          "Content-Length: 4\r\nendpoint-load-metrics-format: TEXT\r\nAuthorization: Bearer me\r\n"
          "\r\n{}\x01\x02");
    CHECK(dialogue.say(fine) == State::answered);
    const LineAnswer answer = dialogue.line->take_answer();
    CHECK(answer.status == 0 && answer.http_status == 200 && answer.wait_ns == 70);
    CHECK(answer.fields == "content-type: c/d\r\ninference-header-content-length: 2\r\n");
    CHECK(dialogue.body_of(answer) == "{}abcd");
    const auto at = reinterpret_cast<std::uintptr_t>(answer.message.data + 2);
    CHECK(at % 64 == 0);  // where its first tensor begins
    CHECK(dialogue.line->is_kept());
  }
}

TEST(an_error_over_rest_is_an_answer_and_says_what_it_means_to_the_balancer) {
  if (!is_there) return;
  const std::pair<std::string, int> statuses[] = {{"400", 3},  {"404", 5},  {"429", 8},
                                                  {"500", 13}, {"503", 14}, {"504", 4},
                                                  {"502", 14}, {"302", 13}};
  for (const auto& [status, grpc] : statuses) {
    Dialogue dialogue;
    dialogue.ask("{}");
    CHECK(dialogue.say("HTTP/1.1 " + status + " No\r\nContent-Length: 3\r\n\r\nwhy") ==
          State::answered);
    const LineAnswer answer = dialogue.line->take_answer();
    CHECK(answer.http_status == std::stoi(status) && answer.status == grpc);
    CHECK(dialogue.body_of(answer) == "why");
  }
}

TEST(a_line_over_which_more_or_less_came_than_an_answer_is_not_asked_again) {
  if (!is_there) return;
  for (const std::string_view answer :
       {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"}) {
    Dialogue dialogue;
    dialogue.ask("{}");
    CHECK(dialogue.say(answer) == State::answered);
    static_cast<void>(dialogue.line->take_answer());
    CHECK(!dialogue.line->is_kept());
  }
  // An answer to what has not been sent: the rest of it would be taken for the next query.
  Dialogue dialogue;
  dialogue.ask(std::string(8U << 20, 'a'));
  CHECK(dialogue.go_on() == State::waits);
  CHECK(dialogue.say("HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n") == State::answered);
  CHECK(dialogue.line->take_answer().http_status == 413 && !dialogue.line->is_kept());
  // What nobody asked.
  Dialogue idle;
  CHECK(idle.say(fine) == State::lost);
}

TEST(a_line_that_ends_says_whether_it_may_have_before_it_was_asked) {
  if (!is_there) return;
  Dialogue fresh;
  fresh.ask("{}");
  fresh.leave();
  CHECK(fresh.go_on() == State::lost && !fresh.line->may_be_stale());
  CHECK(fresh.line->why() == "the server closed the connection");

  for (const bool is_begun : {false, true}) {
    Dialogue used;
    used.ask("{}");
    CHECK(used.say(fine) == State::answered);
    static_cast<void>(used.line->take_answer());
    used.ask("{}");
    CHECK(used.go_on() == State::waits);
    if (is_begun) CHECK(used.say("HTTP/1.1 200") == State::waits);
    used.leave();
    CHECK(used.go_on() == State::lost && used.line->may_be_stale() == !is_begun);
    CHECK(used.line->take_query()->ticket == 1);
  }
}

TEST(an_answer_over_rest_that_is_too_large_or_ends_with_the_connection_is_told_apart) {
  if (!is_there) return;
  for (const std::string_view large :
       {"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n"}) {
    Dialogue dialogue({.most_message_bytes = 10});
    dialogue.ask("{}");
    CHECK(dialogue.say(large) == State::answered);
    const LineAnswer answer = dialogue.line->take_answer();
    CHECK(answer.status == 8 && answer.http_status == 0 && !dialogue.line->is_kept());
  }
  Dialogue dialogue;
  dialogue.ask("{}");
  CHECK(dialogue.say("HTTP/1.1 200 OK\r\n\r\nall of it") == State::waits);
  dialogue.leave();
  CHECK(dialogue.go_on() == State::answered);
  CHECK(dialogue.body_of(dialogue.line->take_answer()) == "all of it");
  CHECK(!dialogue.line->is_kept());
}

}  // namespace rest_line_tests
