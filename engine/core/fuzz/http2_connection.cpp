// A client's whole connection: frames of HTTP/2, calls in them, and somebody who answers.
#include "frontend/http2_connection.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "memory/account.hpp"
#include "mutations.hpp"
#include "target.hpp"

namespace engine::fuzz {

namespace {

using namespace frontend;

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::string_view service = "/inference.GRPCInferenceService/";
constexpr unsigned data_frame = 0, headers_frame = 1, reset_frame = 3, settings_frame = 4,
                   window_frame = 8, continuation_frame = 9;
constexpr unsigned ends_stream = 1, ends_headers = 4;
constexpr std::size_t most_message_bytes = 40 * 1024;

std::string header(std::string_view name, std::string_view value) {
  std::string made(1, '\0');
  for (const std::string_view text : {name, value})
    made.append(1, static_cast<char>(text.size())).append(text);
  return made;
}

std::string headers(std::string_view method, std::string_view more = {}) {
  return header(":method", "POST") + header(":scheme", "http") +
         header(":path", std::string(service).append(method)) + header(":authority", "x") +
         header("content-type", "application/grpc") + header("te", "trailers") + std::string(more);
}

std::string begin(std::uint32_t stream, std::string_view method, std::string_view more = {}) {
  return frame(headers_frame, ends_headers, stream, headers(method, more));
}

std::string whole_call(std::uint32_t stream, std::string_view method, std::string_view content) {
  return begin(stream, method, header("grpc-timeout", "5S")) +
         frame(data_frame, ends_stream, stream, grpc_message(content));
}

/// Stands for the front end: a call of ModelInfer gets its message back, those of a stream each, in
/// halves; others wait for answer_waiting(), as for Python.
class Answering final : public CallHandler {
 public:
  [[nodiscard]] std::uint64_t next_token() override {
    there_.insert(++last_token_);
    return last_token_;
  }
  void on_call(Connection&, Call& call) override { must(there_.contains(call.token)); }
  void on_message(Connection& connection, Call& call, Message content) override {
    must(there_.contains(call.token) && content.bytes <= most_message_bytes);
    if (call.method == Method::stream_infer) {
      call.send(parts_of(content));
      connection.consume(call);
      connection.go_on(call);
    } else if (call.messages.empty()) {
      call.messages.push_back(std::move(content));
    } else {
      call.end(Status::internal, "the call has one message, a second one came");
      connection.go_on(call);
    }
  }
  void on_complete(Connection& connection, Call& call) override {
    must(there_.contains(call.token));
    if (call.method == Method::other) return waiting_.push_back(call.stream);
    if (call.method == Method::infer && call.messages.empty())
      call.end(Status::invalid_argument, call.path);
    for (const Message& content : call.messages) call.send(parts_of(content));
    call.messages.clear();
    if (!call.has_ended) call.end(Status::ok);
    connection.go_on(call);
  }
  void on_gone(Call& call) override { must(there_.erase(call.token) == 1); }

  void answer_waiting(Http2Connection& connection) {
    for (const std::int32_t stream : std::exchange(waiting_, {})) {
      Call* const call = connection.find(stream);
      if (call == nullptr || call->has_ended) continue;
      call->end(Status::unimplemented, call->path);
      connection.go_on(*call);
    }
  }
  [[nodiscard]] bool is_empty() const noexcept { return there_.empty(); }

 private:
  static std::vector<OutPart> parts_of(const Message& content) {
    std::vector<OutPart> parts(2);
    parts[0].own = grpc_message(text_of(content.content()));
    parts[1].foreign = content.content();
    parts[1].owner = content.memory;
    if (parts[1].owner == nullptr) parts.pop_back();
    return parts;
  }

  std::uint64_t last_token_ = 0;
  std::set<std::uint64_t> there_;
  std::vector<std::int32_t> waiting_;
};

/// The client's end of a pair of sockets.
class Client {
 public:
  Client() { must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()) == 0); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(ends_[0]); }

  [[nodiscard]] int server_end() const noexcept { return ends_[1]; }
  /// Such that answers have to wait for the client.
  void takes_little() const {
    const int bytes = 2048;
    setsockopt(ends_[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  void send(std::string_view bytes) const {
    if (!bytes.empty()) must(write(ends_[0], bytes.data(), bytes.size()) > 0);
  }
  void hear(std::size_t most) {
    buffer_.resize(most);
    static_cast<void>(recv(ends_[0], buffer_.data(), most, MSG_DONTWAIT));
  }

 private:
  std::array<int, 2> ends_{};
  std::string buffer_;
};

void check(std::string_view input) {
  Random random = random_of(input);
  Client client;
  const bool is_slow = random.one_in(3);
  if (is_slow) client.takes_little();
  Answering answering;
  {
    std::array<std::byte, 1024> buffer{};
    const ConnectionParams params{.most_message_bytes = most_message_bytes,
                                  .most_streams = 16,
                                  .body_ns = random.one_in(2) ? 1 : 0};
    Http2Connection connection(http2::Api::open(),
                               std::make_unique<PlainTransport>(client.server_end()), 1, params,
                               answering);
    const std::size_t piece = random.one_in(2) ? input.size() + 1 : 1 + random.below(200);
    for (std::size_t at = 0; at < input.size(); at += piece) {
      client.send(input.substr(at, piece));
      if (!connection.read(buffer)) break;
      if (random.one_in(4)) answering.answer_waiting(connection);
      if (random.one_in(30)) connection.end_receipts();
      if (random.one_in(30) && !connection.end_slow(std::int64_t{1} << 62)) break;
      if (random.one_in(60)) connection.say_goodbye();
      if (!connection.flush()) break;
      client.hear(is_slow ? random.below(100) : 1 << 16);
    }
    answering.answer_waiting(connection);
    static_cast<void>(connection.flush());
  }
  must(answering.is_empty());
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string begun = std::string(preface) + frame(settings_frame, 0, 0, {});
  const std::string half = headers("ModelInfer").substr(0, 40),
                    rest = headers("ModelInfer").substr(40);
  const std::string long_message = grpc_message(std::string(30'000, 'm'));
  std::string uploads = begin(1, "ModelInfer") + begin(3, "ModelInfer");
  for (std::size_t at = 0; at < long_message.size(); at += 10'000)
    for (const std::uint32_t stream : {1U, 3U})
      uploads += frame(data_frame, 0, stream, long_message.substr(at, 10'000));
  std::string window(4, '\0');
  window[1] = 1;
  const std::string little = std::string("\0\4\0\0\0\1", 6);  // a window of one byte
  return {
      begun + whole_call(1, "ModelInfer", "hello") + whole_call(3, "ServerLive", "") +
          whole_call(5, "ModelMetadata", "m"),
      begun + begin(1, "ModelStreamInfer") +
          frame(data_frame, 0, 1, grpc_message("one") + grpc_message("two")) +
          frame(data_frame, 0, 1, grpc_message(std::string(5000, 'x')).substr(0, 100)) +
          frame(data_frame, ends_stream, 1, {}),
      begun + uploads + frame(data_frame, ends_stream, 1, {}) + frame(window_frame, 0, 0, window),
      begun + frame(headers_frame, 0, 1, half) + frame(continuation_frame, ends_headers, 1, rest) +
          frame(reset_frame, 0, 1, std::string("\0\0\0\x8", 4)),
      std::string(preface) + frame(settings_frame, 0, 0, little) +
          whole_call(1, "ModelInfer", std::string(200, 'w')) + frame(window_frame, 0, 1, window) +
          frame(6, 0, 0, "pingping"),
      begun + frame(headers_frame, ends_headers | ends_stream, 1, headers("ModelInfer")) +
          frame(headers_frame, ends_headers, 3, header(":method", "GET") + header(":path", "/")) +
          frame(data_frame, ends_stream, 3, "body"),
      begun + whole_call(1, "ModelInfer", std::string(20'000, 'a')) +
          whole_call(3, "ModelStreamInfer", std::string(12'000, 'b')),
  };
}

std::string mutated(std::string input, Random& random) {
  if (random.one_in(20)) return mutated_bytes(std::move(input), random);
  return mutated_frames(input, preface.size(), random);
}

}  // namespace engine::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  engine::fuzz::check({reinterpret_cast<const char*>(data), size});
  engine::fuzz::must(engine::MemoryAccount::process().held_bytes() == 0);
  return 0;
}
