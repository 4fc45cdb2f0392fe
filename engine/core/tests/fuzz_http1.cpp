#include "fuzz_http1.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "frontend/http1_connection.hpp"
#include "frontend/rest_request.hpp"
#include "frontend/rest_skim.hpp"

namespace engine::fuzz {

namespace {

using namespace engine::frontend;

/// Answers requests with what they say.
struct Echo final : CallHandler {
  std::uint64_t next_token() override { return ++token; }
  void on_call(Connection&, Call&) override { ++calls; }
  void on_message(Connection&, Call&, Message) override {}
  void on_complete(Connection& connection, Call& call) override {
    std::vector<OutPart> parts(1);
    parts[0].own = call.rest->head.method + call.rest->head.target;
    for (const auto& [name, value] : call.rest->head.fields) parts[0].own += name + value;
    parts[0].own += text_of(call.messages.front().content());
    call.rest->status = 200;
    call.send(std::move(parts));
    call.end(Status::ok);
    connection.go_on(call);
  }
  void on_gone(Call&) override { --calls; }

  std::uint64_t token = 0;
  int calls = 0;
};

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

/// What comes back, without what varies with the time.
std::string heard(int socket) {
  std::string all;
  char some[4096];
  for (ssize_t count = 0; (count = read(socket, some, sizeof some)) > 0;)
    all.append(some, static_cast<std::size_t>(count));
  for (std::size_t at = 0; (at = all.find("\r\nDate: ", at)) != std::string::npos;)
    all.erase(at, all.find('\n', at + 2) - at);
  return all;
}

std::string answers(Input bytes, std::size_t piece) {
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "no sockets");
  Echo echo;
  ConnectionParams params;
  params.most_message_bytes = 1000;
  std::string all;
  {
    Http1Connection connection(std::make_unique<PlainTransport>(ends[0]), 1, params, echo);
    bool goes_on = true;
    while (goes_on && !bytes.empty()) {
      const Input part = bytes.first(std::min(piece, bytes.size()));
      bytes = bytes.subspan(part.size());
      // Memory of its own: nothing behind it may be looked at.
      const std::vector<std::byte> own(part.begin(), part.end());
      goes_on = connection.hear(own) && connection.flush();
      all += heard(ends[1]);
    }
    require(echo.calls <= 1, "a call was not told gone");
  }
  require(echo.calls == 0, "a call was not told gone");
  close(ends[1]);
  return all;
}

}  // namespace

void http1_connection(Input bytes) {
  const std::string whole = answers(bytes, std::max<std::size_t>(1, bytes.size()));
  for (const std::size_t piece : {std::size_t{1}, 2 + bytes.size() / 3})
    require(answers(bytes, piece) == whole, "in pieces it is answered otherwise");
}

void rest_request(Input bytes) {
  if (bytes.empty()) return;
  const Input body = bytes.subspan(1);
  const auto behind = std::min(static_cast<std::size_t>(bytes[0]), body.size());
  http1::RequestHead head;
  head.method = "POST";
  head.target = "/v2/models/m/infer";
  head.fields = {{"inference-header-content-length", std::to_string(body.size() - behind)}};
  Rest rest(head);
  require(rest_method(rest) == Method::infer, "a query is one");
  const std::vector<std::byte> own(body.begin(), body.end());
  InferRequest request;
  const std::optional<RestSkim> found = skimmed(rest, own);
  if (!read_rest_request(rest, own, request)) return;
  const std::string_view document = text_of(Bytes(own).first(own.size() - behind));
  if (document.find("shared_memory_region") == document.npos)
    require(found && found->id == request.id && found->timeout_us == request.timeout_us,
            "a plain query is looked through otherwise than it is read");
  std::size_t raw = 0;
  for (const Bytes tensor : request.raw) raw += tensor.size();
  require(raw == behind, "all that is behind the document is a tensor's");
  for (const GivenInput& input : request.inputs)
    require(!input.numbers || input.numbers->count() <= body.size(), "more numbers than bytes");
}

std::vector<std::string> http1_seeds() {
  return {
      "GET /v2 HTTP/1.1\r\nHost: a\r\nX-Any: thing\r\n\r\nGET /a HTTP/1.0\r\n\r\n",
      "POST /a HTTP/1.1\r\nContent-Type: x\r\nContent-Length: 5\r\n\r\n12345"
      "POST /b HTTP/1.1\r\nContent-Length: 0\r\nInference-Header-Content-Length: 3\r\n\r\n",
      "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
      "3;name=value\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: a\r\n\r\nHEAD / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /a HTTP/1.1\r\n\r\n",
  };
}

std::vector<std::string> rest_seeds() {
  const std::string no_bytes(1, '\0'), eight("\x08");
  return {
      no_bytes + R"({"id":"a","inputs":[{"name":"x","shape":[1,2],"datatype":"FP32",)"
                 R"("data":[[1,-2.5e3]]}],"outputs":[{"name":"y"}]})",
      eight + R"({"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","parameters":)"
              R"({"binary_data_size":8}}],"parameters":{"binary_data_output":true,"timeout":1}})"
              "12345678",
      no_bytes + R"({"inputs":[{"name":"x","datatype":"BOOL","shape":[],"parameters":)"
                 R"({"shared_memory_region":"r","shared_memory_byte_size":1}}],)"
                 R"("outputs":[{"name":"z","parameters":{"binary_data":false}}]})",
  };
}

}  // namespace engine::fuzz
