#include "replicas/rest_line.hpp"

#include <sys/epoll.h>

#include <array>
#include <utility>

#include "frontend/load_headers.hpp"
#include "frontend/rest.hpp"
#include "replicas/line_transport.hpp"

namespace engine::replicas {

namespace {

constexpr std::size_t buffer_bytes = 256 * 1024;
constexpr std::string_view head_length = "inference-header-content-length";
constexpr std::string_view no_room =
    "the answer has no room in the memory that may be used; ask again";

/// What is read is used up at once.
thread_local std::array<std::byte, buffer_bytes> buffer;

void put_field(std::string& head, std::string_view name, std::string_view value) {
  (((head += name) += ": ") += value) += "\r\n";
}

}  // namespace

RestLine::RestLine(const LineParams& params, const ServerAddress& address)
    : RestLine(params, address, line_transport(params, address, "\x08http/1.1")) {}

RestLine::RestLine(const LineParams& params, const ServerAddress& address,
                   std::unique_ptr<frontend::Transport> transport)
    : params_(params), address_(address), transport_(std::move(transport)), parser_(*this) {}

RestLine::~RestLine() = default;

std::uint32_t RestLine::events() const noexcept {
  return EPOLLIN | (!is_connected_ || transport_->is_blocked() ? EPOLLOUT : 0U);
}

void RestLine::ask(RestQuery query) {
  std::string head = query.head;
  put_field(head, "Host", address_.text);
  put_field(head, "Content-Length", std::to_string(query.content.size()));
  put_field(head, frontend::load_format_header, frontend::load_format);
  if (!params_.authorization.empty()) put_field(head, "Authorization", params_.authorization);
  head += "\r\n";
  out_.append(bytes_of(head));
  out_.append(query.content, query.owner);
  answer_ = {};
  has_heard_ = false;
  query_ = std::move(query);
}

RestLine::State RestLine::take(std::uint32_t events) {
  if (!is_connected_) {
    const Connecting how = connecting(socket(), events, why_);
    if (how == Connecting::failed) return State::lost;
    if (how == Connecting::waits) return State::waits;
    is_connected_ = true;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
    if (const State state = read(); state != State::waits) return state;
  return flush();
}

RestLine::State RestLine::read() {
  for (;;) {
    const auto count = transport_->receive(buffer);
    if (!count) {
      is_kept_ = false;
      if (query_ && has_heard_ && parser_.finish() == http1::ResponseParser::State::end)
        return end(false);
      return lose(why_over(*transport_));
    }
    if (*count == 0) return State::waits;
    if (const State state = parse(isolation::Bytes(buffer).first(*count)); state != State::waits)
      return state;
    if (*count < buffer.size()) return State::waits;
  }
}

RestLine::State RestLine::parse(isolation::Bytes came) {
  if (!query_) return lose("the server says what nobody asked");
  has_heard_ = true;
  switch (parser_.feed(came)) {
    case http1::ResponseParser::State::more:
      return State::waits;
    case http1::ResponseParser::State::end:
      // More than that belongs to nothing; and what it has not taken is in the next one's way.
      return end(is_kept_ && came.empty() && out_.empty());
    case http1::ResponseParser::State::stopped:  // as on_head() and on_body() say
      answer_.status = resource_exhausted;
      answer_.text = no_room;
      answer_.http_status = 0;
      static_cast<void>(content_.take());
      return end(false);
    case http1::ResponseParser::State::failed:
      break;
  }
  return lose("the server does not speak HTTP/1.1: " + parser_.reason());
}

bool RestLine::on_head(const http1::ResponseHead& head) {
  answer_.http_status = head.status;
  answer_.status = static_cast<int>(frontend::status_of(head.status));
  is_kept_ = head.is_kept;
  for (const auto& [name, value] : head.fields) {
    if (name == frontend::load_header)
      answer_.wait_ns = reported_wait_ns(value);
    else
      put_field(answer_.fields, name, value);
  }
  const auto document_bytes = whole_number(head.field(head_length)).value_or(0);
  content_.begin(head.content_bytes,
                 document_bytes < 0 ? 0 : static_cast<std::size_t>(document_bytes));
  return head.content_bytes.value_or(0) <= params_.most_message_bytes;
}

bool RestLine::on_body(std::span<const std::byte> bytes) {
  return bytes.size() <= params_.most_message_bytes - content_.bytes() && content_.add(bytes);
}

RestLine::State RestLine::end(bool goes_on) {
  is_kept_ = goes_on;
  answer_.message = content_.take();
  return State::answered;
}

RestLine::State RestLine::lose(std::string why) {
  is_kept_ = false;
  why_ = std::move(why);
  return State::lost;
}

RestLine::State RestLine::flush() {
  if (!is_connected_ || (out_.empty() && !transport_->is_blocked()) || transport_->send(out_))
    return State::waits;
  // It may have said why it takes no more.
  const State state = read();
  return state == State::waits ? lose("the connection is broken") : state;
}

LineAnswer RestLine::take_answer() {
  query_.reset();
  has_answered_ = true;
  return std::exchange(answer_, {});
}

std::optional<RestQuery> RestLine::take_query() { return std::exchange(query_, std::nullopt); }

}  // namespace engine::replicas
