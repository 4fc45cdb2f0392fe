#include "frontend/http1_connection.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <utility>

#include "frontend/load_headers.hpp"
#include "scheduler/clock.hpp"

namespace engine::frontend {

namespace {

/// What waits to be written before a further request is read.
constexpr std::size_t most_waiting_bytes = 1U << 20;
/// For what is on its way to somebody who was told that it is in vain.
constexpr std::int64_t most_linger_ns = 10'000'000'000;
/// A body of so much is sent from where it is.
constexpr std::size_t large_bytes = 64 * 1024;
constexpr std::string_view head_length = "inference-header-content-length";
constexpr std::string_view of_json = "Content-Type: application/json; charset=utf-8\r\n";
constexpr std::string_view no_memory = "the server's memory limit was reached; ask again";

std::size_t number_of(std::string_view text) noexcept {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

/// Now, as answers say it; written anew once a second.
std::string_view date() {
  static thread_local std::time_t written = 0;
  static thread_local char text[64];
  static thread_local std::size_t bytes = 0;
  if (const std::time_t now = std::time(nullptr); now != written || bytes == 0) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    bytes = std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    written = now;
  }
  return {text, bytes};
}

std::string error_document(std::string_view why) {
  std::string document = "{\"error\": ";
  put_json_text(document, why);
  return document += '}';
}

}  // namespace

Http1Connection::Http1Connection(std::unique_ptr<Transport> transport, std::uint64_t number,
                                 const ConnectionParams& params, CallHandler& handler)
    : Connection(std::move(transport), number),
      params_(params),
      handler_(handler),
      parser_(*this),
      since_ns_(coarse_now_ns()) {}

Http1Connection::~Http1Connection() {
  if (call_) handler_.on_gone(*call_);
}

bool Http1Connection::may_begin() const noexcept {
  return !is_answering() && out_.bytes() < most_waiting_bytes;
}

bool Http1Connection::take(Bytes data) {
  parse(data);
  if (!data.empty()) keep(data);
  return true;
}

/// Takes of `data` what can be read now.
void Http1Connection::parse(Bytes& data) {
  while (!data.empty()) {
    if (reading_ == Reading::nothing) {
      data = {};
      return;
    }
    if (!may_begin()) return;
    if (!parser_.is_within()) since_ns_ = coarse_now_ns();
    switch (parser_.feed(data)) {
      case http1::RequestParser::State::more:
      case http1::RequestParser::State::end:
        break;
      case http1::RequestParser::State::stopped:
        reading_ = Reading::nothing;
        break;
      case http1::RequestParser::State::failed:
        refuse(parser_.fault(), "malformed request: " + parser_.reason());
    }
  }
}

void Http1Connection::keep(Bytes data) {
  if (waiting_share_.try_take(data.size()))
    waiting_ += text_of(data);
  else
    is_kept_ = false;  // they are lost, and not answered
}

void Http1Connection::parse_waiting() {
  const auto* const data = reinterpret_cast<const std::byte*>(waiting_.data());
  Bytes left = Bytes(data, waiting_.size()).subspan(waiting_at_);
  parse(left);
  waiting_at_ = waiting_.size() - left.size();
  if (!left.empty()) return;
  waiting_ = {};
  waiting_at_ = 0;
  waiting_share_.give_all();
}

bool Http1Connection::on_head(const http1::RequestHead& head) {
  is_kept_ = is_kept_ && head.is_kept;
  call_ = std::make_unique<Call>(0, handler_.next_token());
  call_->received_ns = now_ns();
  call_->rest = std::make_unique<Rest>(head);
  call_->method = rest_method(*call_->rest);
  call_->trace_parent = head.field("traceparent").substr(0, longest_trace_parent);
  call_->wants_load = head.field(load_format_header) == load_format;
  handler_.on_call(*this, *call_);
  if (call_->has_ended) {
    const std::string why = call_->text;
    refuse_call(http_status(call_->status), why);
    return false;
  }
  if (head.content_bytes && *head.content_bytes > params_.most_message_bytes) {
    refuse_call(413, {});
    return false;
  }
  content_.begin(head.content_bytes, number_of(head.field(head_length)));
  const bool has_body = head.is_chunked || head.content_bytes.value_or(0) > 0;
  if (head.expects_continue && has_body && !head.is_version_0) {
    static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
    out_.append({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  }
  return true;
}

bool Http1Connection::on_body(std::span<const std::byte> bytes) {
  if (bytes.size() > params_.most_message_bytes - content_.bytes())
    refuse_call(413, {});
  else if (content_.add(bytes))
    return true;
  else
    refuse_call(429, no_memory);
  return false;
}

void Http1Connection::on_end() {
  call_->is_complete = true;
  call_->received_ns = now_ns();
  call_->messages.push_back(content_.take());
  handler_.on_complete(*this, *call_);
}

/// Answers what has no call, and reads no further.
void Http1Connection::refuse(int status, const std::string& why) {
  if (call_) return refuse_call(status, why);
  call_ = std::make_unique<Call>(0, handler_.next_token());
  call_->rest = std::make_unique<Rest>(http1::RequestHead{});
  handler_.on_call(*this, *call_);
  refuse_call(status, why);
}

/// Answers a call before all of it came, and reads no further.
void Http1Connection::refuse_call(int status, std::string_view why) {
  Rest& rest = *call_->rest;
  reading_ = Reading::nothing;
  is_kept_ = false;
  since_ns_ = coarse_now_ns();
  std::string text(why);
  if (text.empty()) {
    text = rest.head.method + " " + rest.head.target.substr(0, rest.head.target.find('?')) + ": ";
    text += reason_phrase(status);
  }
  std::vector<OutPart> parts(1);
  parts[0].own = error_document(text);
  rest.status = status;
  rest.fields = of_json;
  call_->send(std::move(parts));
  call_->end(Status::ok);
  go_on(*call_);
}

bool Http1Connection::end_receipts() {
  if (!call_ || call_->is_complete || call_->has_ended || content_.bytes() == 0) return false;
  static_cast<void>(content_.take());
  refuse_call(429, no_memory);
  return true;
}

bool Http1Connection::end_slow(std::int64_t now_ns) {
  const std::int64_t took_ns = now_ns - since_ns_;
  if (reading_ == Reading::nothing) return took_ns <= most_linger_ns;
  if (params_.body_ns == 0 || took_ns <= params_.body_ns || is_answering()) return true;
  if (!call_) return false;
  static_cast<void>(content_.take());
  refuse_call(408, {});
  return true;
}

void Http1Connection::say_goodbye() { is_kept_ = false; }

void Http1Connection::go_on(Call& call) {
  if (call.has_begun || !call.has_ended) return;
  call.has_begun = true;
  Rest& rest = *call.rest;
  if (rest.status == 0) {
    rest.status = http_status(call.status);
    if (call.status != Status::ok) {
      rest.fields = of_json;
      std::vector<OutPart> parts(1);
      parts[0].own = error_document(call.text);
      call.out.clear();
      call.out_bytes = 0;
      call.send(std::move(parts));
    }
  }
  write_answer(call);
}

void Http1Connection::write_answer(Call& call) {
  const Rest& rest = *call.rest;
  std::string head = "HTTP/1.1 " + std::to_string(rest.status) + " ";
  head += reason_phrase(rest.status);
  head += "\r\n";
  head += rest.fields;
  head += "Content-Length: " + std::to_string(call.out_bytes) + "\r\n";
  head += date();
  if (!call.load.empty()) ((head += "endpoint-load-metrics: ") += call.load) += "\r\n";
  if (rest.status == 429) head += "Retry-After: 1\r\n";
  if (rest.status == 401) head += "WWW-Authenticate: Bearer\r\n";
  if (!is_kept_)
    head += "Connection: close\r\n";
  else if (rest.head.is_version_0)
    head += "Connection: keep-alive\r\n";
  head += "\r\n";
  out_.append({reinterpret_cast<const std::byte*>(head.data()), head.size()});
  if (rest.head.method != "HEAD")
    for (OutPart& part : call.out) {
      if (part.owner == nullptr && part.own.size() > large_bytes) {
        const auto text = std::make_shared<std::string>(std::move(part.own));
        part.foreign = {reinterpret_cast<const std::byte*>(text->data()), text->size()};
        part.owner = text;
      }
      out_.append(part.bytes(), part.owner);
    }
  call.out.clear();
}

/// Behind its answer, which is written.
void Http1Connection::end_call() {
  const std::unique_ptr<Call> call = std::move(call_);
  handler_.on_gone(*call);
  since_ns_ = coarse_now_ns();
}

bool Http1Connection::flush() {
  for (;;) {
    if (!out_.empty() && !transport().send(out_)) return false;
    if (!out_.empty()) return true;  // it takes no more for now
    if (call_ && call_->has_begun) end_call();
    if (call_) return true;
    if (reading_ == Reading::nothing) {
      if (!std::exchange(is_last_sent_, true)) stop_sending();
      return true;
    }
    if (!is_kept_) return false;
    if (waiting_.empty()) return true;
    parse_waiting();
  }
}

}  // namespace engine::frontend
