#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/http1_connection.hpp"
#include "frontend/opening_connection.hpp"
#include "test.hpp"

namespace http1_connection_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

const bool is_there = http1::RequestParser::missing().empty();

/// Answers each request with its target and body, at once or when told to.
struct Echo final : CallHandler {
  std::uint64_t next_token() override { return ++token; }
  void on_call(Connection&, Call&) override { ++begun; }
  void on_message(Connection&, Call&, Message) override {}
  void on_complete(Connection& connection, Call& call) override {
    asked = &call;
    if (is_prompt) answer(connection);
  }
  void on_gone(Call&) override {
    asked = nullptr;
    ++gone;
  }
  void answer(Connection& connection) {
    std::vector<OutPart> parts(1);
    parts[0].own = asked->rest->head.target + ":";
    parts[0].own += text_of(asked->messages.front().content());
    asked->rest->status = 200;
    asked->send(std::move(parts));
    asked->end(Status::ok);
    connection.go_on(*asked);
  }

  std::uint64_t token = 0;
  int begun = 0, gone = 0;
  bool is_prompt = true;
  Call* asked = nullptr;
};

/// A connection, and its client's end.
class Dialogue {
 public:
  explicit Dialogue(ConnectionParams params = {}) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_) == 0);
    connection = std::make_unique<Http1Connection>(std::make_unique<PlainTransport>(ends_[0]), 1,
                                                   params, echo);
  }
  ~Dialogue() {
    connection.reset();
    if (ends_[1] >= 0) close(ends_[1]);
  }
  /// What is answered to these bytes; sets whether the connection goes on.
  std::string say(std::string_view bytes) {
    if (!bytes.empty()) CHECK(write(ends_[1], bytes.data(), bytes.size()) > 0);
    goes_on = connection->read(buffer_) && connection->flush();
    return hear();
  }
  std::string hear() {
    std::string heard;
    char some[4096];
    for (;;) {
      const ssize_t count = read(ends_[1], some, sizeof some);
      if (count == 0) heard += "<end>";
      if (count <= 0) return without_dates(std::move(heard));
      heard.append(some, static_cast<std::size_t>(count));
    }
  }
  void leave() { close(std::exchange(ends_[1], -1)); }

  Echo echo;
  std::unique_ptr<Http1Connection> connection;
  bool goes_on = true;

 private:
  static std::string without_dates(std::string text) {
    for (std::size_t at = 0; (at = text.find("Date: ", at)) != std::string::npos;)
      text.erase(at, text.find('\n', at) + 1 - at);
    return text;
  }
  int ends_[2] = {-1, -1};
  std::vector<std::byte> buffer_{std::size_t{4096}};
};

std::string answer(std::string_view body, std::string_view more = "") {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more) + "\r\n" + std::string(body);
}
std::string post(std::string_view target, std::string_view body) {
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

}  // namespace

TEST(answers_come_in_the_order_of_requests_however_those_arrive) {
  if (!is_there) return;
  const std::string asked = post("/a", "one") + "GET /b HTTP/1.1\r\n\r\n" + post("/c", "");
  const std::string expected = answer("/a:one") + answer("/b:") + answer("/c:");
  for (const bool is_prompt : {true, false}) {
    for (std::size_t piece = 1; piece <= asked.size(); ++piece) {
      Dialogue dialogue;
      dialogue.echo.is_prompt = is_prompt;
      std::string heard;
      for (std::size_t at = 0; at < asked.size(); at += piece)
        heard += dialogue.say(std::string_view(asked).substr(at, piece));
      for (int round = 0; round < 3 && dialogue.echo.asked != nullptr; ++round) {
        dialogue.echo.answer(*dialogue.connection);
        heard += dialogue.say("") + dialogue.say("");  // what waited, and what the socket kept
      }
      CHECK(heard == expected);
      CHECK(dialogue.goes_on && dialogue.echo.gone == 3);
    }
  }
}

TEST(while_one_is_answered_others_wait_with_the_client) {
  if (!is_there) return;
  Dialogue dialogue;
  dialogue.echo.is_prompt = false;
  CHECK(dialogue.say(post("/a", "")).empty());
  CHECK(dialogue.connection->wants_more());
  CHECK(dialogue.say(post("/b", "")).empty());
  CHECK(!dialogue.connection->wants_more());
  CHECK(dialogue.say(post("/c", "")).empty());
  CHECK(dialogue.echo.begun == 1);
  dialogue.echo.answer(*dialogue.connection);
  CHECK(dialogue.connection->flush() && dialogue.echo.begun == 2);
}

TEST(connections_end_behind_the_last_answer) {
  if (!is_there) return;
  const std::string_view last[] = {"GET /a HTTP/1.1\r\nConnection: close\r\n\r\n",
                                   "GET /a HTTP/1.0\r\n\r\n"};
  for (const std::string_view asked : last) {
    Dialogue dialogue;
    CHECK(dialogue.say(asked) == answer("/a:", "Connection: close\r\n"));
    CHECK(!dialogue.goes_on);
  }
  Dialogue kept;
  CHECK(kept.say("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") ==
        answer("/a:", "Connection: keep-alive\r\n"));
  CHECK(kept.goes_on);
  kept.connection->say_goodbye();
  CHECK(!kept.connection->flush());
}

TEST(who_waits_for_leave_to_send_gets_it) {
  if (!is_there) return;
  ConnectionParams params;
  params.most_message_bytes = 10;
  Dialogue dialogue(params);
  const auto head = [](int bytes) {
    return "POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: " + std::to_string(bytes) +
           "\r\n\r\n";
  };
  CHECK(dialogue.say(head(3)) == "HTTP/1.1 100 Continue\r\n\r\n");
  CHECK(dialogue.say("abc") == answer("/a:abc"));
  CHECK(dialogue.say(head(11)).starts_with("HTTP/1.1 413 "));
}

TEST(what_is_too_large_is_said_and_the_rest_thrown_away) {
  if (!is_there) return;
  ConnectionParams params;
  params.most_message_bytes = 10;
  const std::string_view asked[] = {
      "POST /a?b HTTP/1.1\r\nContent-Length: 11\r\n\r\n0123",
      "POST /a?b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n3\r\n012",
  };
  for (const std::string_view bytes : asked) {
    Dialogue dialogue(params);
    const std::string heard = dialogue.say(bytes);
    CHECK(heard.starts_with("HTTP/1.1 413 Request Entity Too Large\r\n"));
    CHECK(heard.find("{\"error\": \"POST /a: Request Entity Too Large\"}") != heard.npos);
    CHECK(heard.ends_with("<end>"));
    CHECK(dialogue.goes_on);  // until the client has read it
    CHECK(dialogue.say("more" + post("/b", "")) == "<end>");
    CHECK(dialogue.echo.begun == 1 && dialogue.echo.gone == 1);
    constexpr std::int64_t hour_ns = 3'600'000'000'000;
    CHECK(dialogue.connection->end_slow(0));
    CHECK(!dialogue.connection->end_slow(dialogue.connection->quiet_since_ns() + hour_ns));
  }
}

TEST(what_is_no_request_is_answered_behind_those_before) {
  if (!is_there) return;
  Dialogue dialogue;
  const std::string heard = dialogue.say(post("/a", "") + "what\r\n\r\n");
  CHECK(heard.starts_with(answer("/a:") + "HTTP/1.1 400 Bad Request\r\n"));
  CHECK(heard.find("Connection: close\r\n") != heard.npos);
}

TEST(who_takes_too_long_is_told) {
  if (!is_there) return;
  ConnectionParams params;
  params.body_ns = 1000;
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  const auto later = [](const Dialogue& dialogue) {
    return dialogue.connection->quiet_since_ns() + hour_ns;
  };
  Dialogue body(params);
  CHECK(body.say("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\na").empty());
  CHECK(body.connection->end_slow(body.connection->quiet_since_ns()));
  CHECK(body.connection->end_slow(later(body)) && body.connection->flush());
  CHECK(body.hear().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
  for (const std::string_view bytes : {"POST /a HT", "GET /a HTTP/1.1\r\n\r\n"}) {
    Dialogue other(params);
    other.say(bytes);
    CHECK(!other.connection->end_slow(later(other)));
  }
  Dialogue asked(params);
  asked.echo.is_prompt = false;
  asked.say(post("/a", "abc"));
  CHECK(asked.connection->end_slow(later(asked)));
}

TEST(a_body_that_is_still_to_come_is_ended_where_memory_is_full) {
  if (!is_there) return;
  Dialogue dialogue;
  CHECK(!dialogue.connection->end_receipts());
  dialogue.say("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\na");
  CHECK(dialogue.connection->end_receipts() && dialogue.connection->flush());
  const std::string heard = dialogue.hear();
  CHECK(heard.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
  CHECK(heard.find("Retry-After: 1\r\n") != heard.npos);
}

TEST(errors_are_documents) {
  if (!is_there) return;
  Dialogue dialogue;
  dialogue.echo.is_prompt = false;
  dialogue.say(post("/a", ""));
  dialogue.echo.asked->end(Status::not_found, "no \"model\"");
  dialogue.connection->go_on(*dialogue.echo.asked);
  CHECK(dialogue.say("") ==
        "HTTP/1.1 404 Not Found\r\nContent-Type: application/json; charset=utf-8\r\n"
        "Content-Length: 25\r\n\r\n{\"error\": \"no \\\"model\\\"\"}");
}

TEST(answers_to_head_have_no_body) {
  if (!is_there) return;
  Dialogue dialogue;
  CHECK(dialogue.say("HEAD /abc HTTP/1.1\r\n\r\n" + post("/a", "")) ==
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + answer("/a:"));
}

TEST(who_leaves_is_noticed) {
  if (!is_there) return;
  Dialogue dialogue;
  dialogue.echo.is_prompt = false;
  dialogue.say(post("/a", ""));
  dialogue.leave();
  std::vector<std::byte> buffer(100);
  CHECK(!dialogue.connection->read(buffer));
  dialogue.connection.reset();
  CHECK(dialogue.echo.gone == 1);
}

TEST(a_large_body_lies_so_that_its_first_tensor_is_aligned) {
  if (!is_there) return;
  for (const bool is_chunked : {false, true}) {
    Dialogue dialogue;
    dialogue.echo.is_prompt = false;
    std::string body = "{}" + std::string(100'000, 'x');
    std::string head = "POST /a HTTP/1.1\r\nInference-Header-Content-Length: 2\r\n";
    head += is_chunked ? "Transfer-Encoding: chunked\r\n\r\n186a2\r\n"
                       : "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    const std::string bytes = head + body + (is_chunked ? "\r\n0\r\n\r\n" : "");
    for (std::size_t at = 0; at < bytes.size(); at += 4000)
      dialogue.say(std::string_view(bytes).substr(at, 4000));
    CHECK(dialogue.echo.asked != nullptr);
    const Message& message = dialogue.echo.asked->messages.front();
    CHECK(text_of(message.content()) == body);
    CHECK((reinterpret_cast<std::uintptr_t>(message.data) + 2) % 64 == 0);
  }
}

TEST(the_first_bytes_of_a_connection_tell_what_it_speaks) {
  const auto told = [](std::string_view bytes) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    OpeningConnection opening(std::make_unique<PlainTransport>(ends[0]), 1);
    std::optional<Speaks> found;
    for (std::size_t i = 0; i < bytes.size() && !found; ++i) {
      CHECK(opening.hear({reinterpret_cast<const std::byte*>(bytes.data()) + i, 1}));
      found = opening.speaks();
    }
    close(ends[1]);
    return found;
  };
  CHECK(told("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == Speaks::grpc);
  for (const std::string_view bytes :
       {"GET / HTTP/1.1", "P", "PUT", "POST", "PR", "PROPFIND /", "x"})
    CHECK(
        told(bytes) ==
        (std::string_view("PRI ").starts_with(bytes) ? std::nullopt : std::optional(Speaks::rest)));
}

TEST(many_requests_at_once_are_answered) {
  if (!is_there) return;
  constexpr int count = 200;
  std::string asked, expected;
  for (int i = 0; i < count; ++i) {
    asked += "GET /" + std::to_string(i) + " HTTP/1.1\r\n\r\n";
    expected += answer("/" + std::to_string(i) + ":");
  }
  Dialogue dialogue;
  std::string heard = dialogue.say(asked);
  while (heard.size() < expected.size() && dialogue.goes_on) heard += dialogue.say("");
  CHECK(heard == expected);
  CHECK(dialogue.connection->wants_more());
}

TEST(a_connection_with_a_query_is_not_closed_for_others) {
  if (!is_there) return;
  const auto has_query = [](std::string_view bytes) {
    Dialogue dialogue;
    dialogue.echo.is_prompt = false;
    dialogue.say(bytes);
    return dialogue.connection->has_query();
  };
  CHECK(has_query(post("/v2/models/m/infer", "{}")));
  CHECK(!has_query("POST /v2/models/m/infer HTTP/1.1\r\nContent-Length: 3\r\n\r\n{"));
  CHECK(!has_query("GET /v2 HTTP/1.1\r\n\r\n"));
}

}  // namespace http1_connection_tests
