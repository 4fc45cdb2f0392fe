#include <string>
#include <string_view>
#include <vector>

#include "http1/request_parser.hpp"
#include "test.hpp"

namespace http1_parser_tests {

using namespace engine::http1;

namespace {

using State = RequestParser::State;

/// What a parser says of some bytes, as text.
struct Heard final : RequestSink {
  bool on_head(const RequestHead& head) override {
    said += head.method + " " + head.target;
    for (const auto& [name, value] : head.fields) said += " " + name + "=" + value;
    if (head.content_bytes) said += " #" + std::to_string(*head.content_bytes);
    if (head.is_chunked) said += " chunked";
    if (!head.is_kept) said += " last";
    if (head.expects_continue) said += " expects";
    said += " [";
    return takes_heads;
  }
  bool on_body(std::span<const std::byte> bytes) override {
    said.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }
  void on_end() override { said += "]\n"; }

  std::string said;
  bool takes_heads = true;
};

struct Outcome {
  std::string said;
  State last = State::more;
  int fault = 0;
};

/// All that comes of bytes that arrive in pieces of that size.
Outcome read_in_pieces(std::string_view bytes, std::size_t piece) {
  Heard heard;
  RequestParser parser(heard);
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    // Memory of its own: nothing behind it may be looked at.
    const std::string part(bytes.substr(at, piece));
    std::span<const std::byte> left{reinterpret_cast<const std::byte*>(part.data()), part.size()};
    while (!left.empty()) {
      outcome.last = parser.feed(left);
      if (outcome.last == State::failed || outcome.last == State::stopped) {
        outcome.fault = parser.fault();
        outcome.said = heard.said;
        return outcome;
      }
    }
  }
  outcome.said = heard.said;
  return outcome;
}

int fault(std::string_view bytes) {
  const Outcome whole = read_in_pieces(bytes, bytes.size());
  const Outcome split = read_in_pieces(bytes, 1);
  CHECK(whole.fault == split.fault);
  CHECK(whole.said.find(']') == std::string::npos);  // no request was taken
  CHECK(whole.last == State::failed);
  return whole.fault;
}

const bool is_there = RequestParser::missing().empty();

}  // namespace

TEST(requests_are_the_same_however_they_arrive) {
  if (!is_there) return;
  const std::string stream =
      "GET /v2 HTTP/1.1\r\nHost: a\r\nX-Any: thing\r\n\r\n"
      "POST /a/infer HTTP/1.1\r\nContent-Type: x/y\r\nINFERENCE-header-Content-Length:  12 \r\n"
      "Content-Length: 5\r\n\r\n12345"
      "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
      "3;name=value\r\nabc\r\n2\r\nde\r\n0\r\nContent-Encoding: trailer\r\n\r\n"
      "PUT /c HTTP/1.0\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n";
  const std::string expected =
      "GET /v2 []\n"
      "POST /a/infer content-type=x/y inference-header-content-length=12 #5 [12345]\n"
      "POST /b chunked expects [abcde]\n"
      "PUT /c content-encoding=gzip #0 last []\n";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    const Outcome outcome = read_in_pieces(stream, piece);
    CHECK(outcome.said == expected);
    CHECK(outcome.last == State::end);
  }
}

TEST(what_could_be_read_in_two_ways_is_no_request) {
  if (!is_there) return;
  const std::string_view refused[] = {
      // Two lengths: what one server takes for a body is a request to another.
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
      "POST / HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 0x3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n",
      // Chunks.
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
      // Lines.
      "GET / HTTP/1.1\nHost: a\n\n",
      "GET / HTTP/1.1\r\nHost: a\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
      "GET / HTTP/1.1\r\nX: a\r\n folded\r\n\r\n",
      "GET / HTTP/1.1\r\n X: a\r\n\r\n",
      std::string_view("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 27),
      std::string_view("GET /\0 HTTP/1.1\r\n\r\n", 20),
      "GET / HTTP/1.1\r\nX Y: a\r\n\r\n",
      "GET / HTTP/1.1\r\n: a\r\n\r\n",
      "GET / HTTP/1.1 \r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "BREW / HTTP/1.1\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\x16\x03\x01\x02",
  };
  for (const std::string_view bytes : refused) CHECK(fault(bytes) == 400);
}

TEST(what_is_not_done_here_is_said) {
  if (!is_there) return;
  CHECK(fault("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n") == 501);
  CHECK(fault("GET / HTTP/1.1\r\nExpect: coffee\r\n\r\n") == 417);
  CHECK(fault("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n") == 405);
  CHECK(fault("GET / HTTP/2.0\r\n\r\n") == 505);
}

TEST(heads_are_bounded) {
  if (!is_there) return;
  const auto target = [](std::size_t bytes) {
    return "GET /" + std::string(bytes - 1, 'a') + " HTTP/1.1\r\n\r\n";
  };
  CHECK(fault(target(RequestParser::most_target_bytes + 1)) == 414);
  CHECK(read_in_pieces(target(RequestParser::most_target_bytes), 100).last == State::end);
  const std::string begin = "GET / HTTP/1.1\r\n";
  CHECK(fault(begin + "X: " + std::string(RequestParser::most_head_bytes, 'a')) == 431);
  CHECK(fault(begin + std::string(RequestParser::most_head_bytes, 'a')) == 431);
  std::string many = begin;
  for (std::size_t i = 0; i < RequestParser::most_head_bytes / 6; ++i) many += "a:\r\n";
  CHECK(read_in_pieces(many, 1000).fault == 0);
  CHECK(fault(many + many.substr(begin.size())) == 431);
  // In trailers, too, without an end.
  std::string trailers = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (std::size_t i = 0; i < RequestParser::most_head_bytes; ++i) trailers += "a:\r\n";
  CHECK(read_in_pieces(trailers, 1000).fault == 431);
}

TEST(who_offers_another_protocol_is_answered_in_this_one) {
  if (!is_there) return;
  const std::string bytes =
      "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
      "GET /next HTTP/1.1\r\n\r\n";
  CHECK(read_in_pieces(bytes, bytes.size()).said == "GET / []\nGET /next []\n");
}

TEST(a_sink_may_stop_at_a_head) {
  if (!is_there) return;
  Heard heard;
  heard.takes_heads = false;
  RequestParser parser(heard);
  const std::string_view bytes = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
  std::span<const std::byte> left{reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
  CHECK(parser.feed(left) == State::stopped);
  CHECK(heard.said == "POST / #3 [");
}

}  // namespace http1_parser_tests
