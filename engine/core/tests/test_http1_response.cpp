#include <string>
#include <string_view>

#include "http1/request_parser.hpp"
#include "http1/response_parser.hpp"
#include "test.hpp"

namespace http1_response_tests {

using namespace engine::http1;

namespace {

using State = ResponseParser::State;

/// What a parser says of some bytes, as text.
struct Heard final : ResponseSink {
  bool on_head(const ResponseHead& head) override {
    said += std::to_string(head.status);
    for (const auto& [name, value] : head.fields) said += " " + name + "=" + value;
    if (head.content_bytes) said += " #" + std::to_string(*head.content_bytes);
    if (!head.is_kept) said += " last";
    said += " [";
    return true;
  }
  bool on_body(std::span<const std::byte> bytes) override {
    said.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }

  std::string said;
};

struct Outcome {
  std::string said;
  State last = State::more;
};

/// All that comes of bytes that arrive in pieces of that size, until the connection ends.
Outcome read_in_pieces(std::string_view bytes, std::size_t piece) {
  Heard heard;
  ResponseParser parser(heard);
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    // Memory of its own: nothing behind it may be looked at.
    const std::string part(bytes.substr(at, piece));
    std::span<const std::byte> left{reinterpret_cast<const std::byte*>(part.data()), part.size()};
    while (!left.empty()) {
      outcome.last = parser.feed(left);
      if (outcome.last == State::end) heard.said += "]\n";
      if (outcome.last == State::failed) return {heard.said, outcome.last};
    }
  }
  if (outcome.last == State::more) {
    outcome.last = parser.finish();
    if (outcome.last == State::end) heard.said += "]\n";
  }
  outcome.said = heard.said;
  return outcome;
}

const bool is_there = RequestParser::missing().empty();

}  // namespace

TEST(answers_are_the_same_however_they_arrive) {
  if (!is_there) return;
  const std::string stream =
      "HTTP/1.1 100 Continue\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nX-Any: thing\r\nContent-Length: 5\r\n\r\n12345"
      "HTTP/1.1 503 Service Unavailable\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\nContent-Type: trailer\r\n\r\n"
      "HTTP/1.1 204 No Content\r\n\r\n"
      "HTTP/1.1 200 OK\r\nINFERENCE-Header-Content-Length:  2 \r\nContent-Length: 0\r\n"
      "endpoint-load-metrics: TEXT named_metrics.wait_ns=7\r\n\r\n"
      "HTTP/1.0 200 OK\r\n\r\nuntil the end";
  const std::string expected =
      "200 content-type=a/b #5 [12345]\n"
      "503 [abc]\n"
      "204 []\n"
      "200 inference-header-content-length=2 "
      "endpoint-load-metrics=TEXT named_metrics.wait_ns=7 #0 []\n"
      "200 last [until the end]\n";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    const Outcome outcome = read_in_pieces(stream, piece);
    CHECK(outcome.said == expected);
    CHECK(outcome.last == State::end);
  }
}

TEST(what_is_no_answer_is_refused) {
  if (!is_there) return;
  const std::string many_heads(ResponseParser::most_head_bytes, 'a');
  std::string informed;
  for (std::size_t i = 0; i < ResponseParser::most_head_bytes; ++i)
    informed += "HTTP/1.1 102 a\r\n\r\n";
  const std::string refused[] = {
      "PRI * HTTP/2.0\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "\x16\x03\x01\x02",
      "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n",
      "HTTP/1.1 103 Early\r\nContent-Length: 3\r\n\r\nabc",
      "HTTP/1.1 42 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n",
      "HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX: " + many_heads + "\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 " + many_heads + "\r\nContent-Length: 0\r\n\r\n",
      informed,
  };
  for (const std::string& bytes : refused)
    for (const std::size_t piece : {bytes.size(), std::size_t{1}}) {
      const Outcome outcome = read_in_pieces(bytes, piece);
      CHECK(outcome.last == State::failed);
      CHECK(outcome.said.find(']') == std::string::npos);  // nothing was taken for an answer
    }
}

TEST(an_answer_that_is_broken_off_is_none) {
  if (!is_there) return;
  const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345";
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes)
    CHECK(read_in_pieces(whole.substr(0, bytes), bytes).last == State::failed);
}

}  // namespace http1_response_tests
