// What a server that is asked over REST says: taken for the same answer however its bytes arrive.
#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "frontend/transport.hpp"
#include "mutations.hpp"
#include "replicas/rest_line.hpp"
#include "target.hpp"

namespace engine::fuzz {

namespace {

using replicas::LineAnswer;
using replicas::RestLine;

constexpr std::size_t most_message_bytes = 8 * 1024;

/// Gives some bytes in pieces, then nothing any more; takes whatever is sent.
class Fed final : public frontend::Transport {
 public:
  Fed(std::span<const std::byte> bytes, std::size_t piece)
      : Transport(open("/dev/null", O_RDWR | O_CLOEXEC)), left_(bytes), piece_(piece) {}
  std::optional<std::size_t> receive(std::span<std::byte> buffer) override {
    if (left_.empty()) return std::nullopt;
    const auto given = left_.first(std::min({piece_, left_.size(), buffer.size()}));
    std::ranges::copy(given, buffer.begin());
    left_ = left_.subspan(given.size());
    return given.size();
  }
  bool send(frontend::OutQueue& out) override {
    out.drop(out.bytes());
    return true;
  }
  [[nodiscard]] bool is_blocked() const noexcept override { return false; }

 private:
  std::span<const std::byte> left_;
  const std::size_t piece_;
};

/// Nothing: the connection is lost.
std::optional<LineAnswer> answer_to(std::span<const std::byte> bytes, std::size_t piece) {
  const replicas::LineParams params{.most_message_bytes = most_message_bytes};
  const replicas::ServerAddress address{.text = "a:1", .host = "a"};
  RestLine line(params, address, std::make_unique<Fed>(bytes, piece));
  line.ask({.ticket = 1, .head = "POST / HTTP/1.1\r\n"});
  for (;;) {
    switch (line.take(EPOLLIN | EPOLLOUT)) {
      case RestLine::State::waits:
        continue;
      case RestLine::State::lost:
        must(!line.why().empty() && line.take_query().has_value());
        return std::nullopt;
      case RestLine::State::answered:
        LineAnswer answer = line.take_answer();
        must(answer.message.bytes <= most_message_bytes);
        must(answer.http_status == 0 || answer.http_status >= 200);
        return answer;
    }
  }
}

bool are_the_same(const std::optional<LineAnswer>& a, const std::optional<LineAnswer>& b) {
  if (!a || !b) return !a && !b;
  return a->status == b->status && a->http_status == b->http_status && a->fields == b->fields &&
         a->wait_ns == b->wait_ns && a->text == b->text &&
         std::ranges::equal(a->message.content(), b->message.content());
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
      "HTTP/1.1 200 OK\r\nInference-Header-Content-Length: 2\r\nContent-Length: 6\r\n"
      "endpoint-load-metrics: TEXT named_metrics.wait_ns=12, named_metrics.a=1\r\n\r\n{}abcd",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n"
      "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\n{}1\r\n0\r\nX: trailer\r\n\r\n",
      "HTTP/1.0 503 Service Unavailable\r\nContent-Encoding: gzip\r\n\r\nuntil the end",
      "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + std::string(9000, 'a'),
  };
}

std::string mutated(std::string input, Random& random) {
  static const std::vector<std::string_view> words{"\r\n",
                                                   "\n",
                                                   ": ",
                                                   " ",
                                                   "0\r\n\r\n",
                                                   "HTTP/1.1 200 OK\r\n",
                                                   "HTTP/1.1 101 a\r\n\r\n",
                                                   "HTTP/1.1 102 a\r\n\r\n",
                                                   "HTTP/1.0",
                                                   "HTTP/2.0",
                                                   "Content-Length: 5\r\n",
                                                   "Content-Length: 99999999999999999999\r\n",
                                                   "Transfer-Encoding: chunked\r\n",
                                                   "Connection: close\r\n",
                                                   "Connection: upgrade\r\nUpgrade: a\r\n",
                                                   "inference-header-content-length: -1\r\n",
                                                   "ffffffffffffffff\r\n"};
  return random.one_in(3) ? mutated_bytes(std::move(input), random)
                          : with_word(std::move(input), words, random);
}

}  // namespace engine::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace engine::fuzz;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  const auto whole = answer_to(bytes, std::max<std::size_t>(1, size));
  Random random = random_of({reinterpret_cast<const char*>(data), size});
  must(are_the_same(whole, answer_to(bytes, 1)));
  must(are_the_same(whole, answer_to(bytes, 1 + random.below(100))));
  return 0;
}
