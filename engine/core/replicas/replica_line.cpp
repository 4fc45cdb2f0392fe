#include "replicas/replica_line.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "frontend/call.hpp"
#include "frontend/infer_query.hpp"
#include "frontend/load_headers.hpp"
#include "replicas/line_callbacks.hpp"
#include "replicas/line_transport.hpp"

namespace engine::replicas {

namespace {

/// Answers are taken as they come, and counted in the process's memory.
constexpr std::uint32_t window = 0x7fffffff;
constexpr std::uint32_t largest_frame = 1U << 20;
constexpr std::size_t most_queued_bytes = 1U << 20, buffer_bytes = 256 * 1024;
constexpr std::size_t frame_header_bytes = 9;
constexpr std::string_view live_path = "/inference.GRPCInferenceService/ServerLive";

/// What is read is used up at once.
thread_local std::array<std::byte, buffer_bytes> buffer;

http2::Field field(std::string_view name, std::string_view value) {
  return {reinterpret_cast<const std::uint8_t*>(name.data()),
          reinterpret_cast<const std::uint8_t*>(value.data()), name.size(), value.size(), 0};
}

/// A status, or that one where it is none.
int status_of(std::string_view text, int otherwise) noexcept {
  constexpr std::int64_t most = 999;
  const auto number = whole_number(text);
  return number && *number >= 0 && *number <= most ? static_cast<int>(*number) : otherwise;
}

/// A time as gRPC writes it: eight digits at most.
std::string timeout_text(std::int64_t left_ns) {
  constexpr std::int64_t most = 99'999'999;
  const std::int64_t left_us = std::max<std::int64_t>(1, left_ns / 1'000);
  if (left_us <= most) return std::to_string(left_us) + "u";
  if (left_us / 1'000 <= most) return std::to_string(left_us / 1'000) + "m";
  return std::to_string(std::min(most, left_us / 1'000'000)) + "S";
}

/// A `grpc-message`, percent-encoded.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      plain.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

}  // namespace

ReplicaLine::ReplicaLine(const http2::Api& api, const LineParams& params,
                         const ServerAddress& address, LineSink& sink)
    : api_(api),
      params_(params),
      address_(address),
      sink_(sink),
      transport_(line_transport(params, address, "\x02h2")) {
  static const http2::Callbacks* const callbacks = LineCallbacks::made(api);
  http2::check(api, api.client_new(&session_, callbacks, this, nullptr), "a session");
  const http2::Setting settings[] = {{http2::setting::enable_push, 0},
                                     {http2::setting::initial_window_size, window},
                                     {http2::setting::max_frame_size, largest_frame}};
  http2::check(api, api.submit_settings(session_, 0, settings, std::size(settings)), "settings");
  http2::check(api, api.set_local_window(session_, 0, 0, window), "the window");
}

ReplicaLine::~ReplicaLine() { api_.session_del(session_); }

std::uint32_t ReplicaLine::events() const noexcept {
  return EPOLLIN | (!is_connected_ || transport_->is_blocked() ? EPOLLOUT : 0U);
}

bool ReplicaLine::fail(std::string why) {
  why_ = std::move(why);
  return false;
}

void ReplicaLine::ask(std::uint64_t ticket, const isolation::LinkedQuery& query,
                      std::int64_t now_ns) {
  auto call = std::make_unique<LineCall>();
  call->ticket = ticket;
  call->owner = query.owner;
  call->content = query.content;
  frontend::put_prefix(call->prefix, query.content.size());
  const std::string timeout =
      query.deadline_ns == 0 ? "" : timeout_text(query.deadline_ns - now_ns);
  if (!begin(std::move(call), frontend::infer_path, timeout, query.trace_parent))
    sink_.on_answer(ticket, {.status = unavailable, .text = why_});
}

/// False: its numbers are used up.
bool ReplicaLine::begin(std::unique_ptr<LineCall> call, std::string_view path,
                        std::string_view timeout, std::string_view trace_parent) {
  std::array<http2::Field, 11> fields = {
      field(":method", "POST"),
      field(":scheme", params_.tls == nullptr ? "http" : "https"),
      field(":path", path),
      field(":authority", address_.text),
      field("te", "trailers"),
      field("content-type", "application/grpc"),
      field("user-agent", "surplus-route"),
      field(frontend::load_format_header, frontend::load_format)};
  std::size_t count = 8;
  if (!timeout.empty()) fields[count++] = field("grpc-timeout", timeout);
  if (!params_.authorization.empty())
    fields[count++] = field("authorization", params_.authorization);
  if (!trace_parent.empty()) fields[count++] = field("traceparent", trace_parent);
  const http2::DataProvider body{call.get(), LineCallbacks::read};
  call->stream = api_.submit_request(session_, nullptr, fields.data(), count, &body, nullptr);
  if (call->stream <= 0) {
    is_leaving_ = true;
    return fail(api_.strerror(call->stream));
  }
  if (!call->is_told) streams_.emplace(call->ticket, call->stream);
  calls_.emplace(call->stream, std::move(call));
  return true;
}

bool ReplicaLine::is_alive() {
  if (++quiet_looks_ > looks) {
    is_silent_ = true;
    return fail("nothing was heard of it for " + std::to_string(params_.unheard_ms) + " ms");
  }
  if (quiet_looks_ != looks / 5 || !is_up_) return true;
  // Whatever it answers, it lives; and what stands between may not answer for it, as it would
  // pings.
  auto call = std::make_unique<LineCall>();
  call->is_told = true;
  frontend::put_prefix(call->prefix, 0);
  static_cast<void>(begin(std::move(call), live_path, {}, {}));
  return true;
}

void ReplicaLine::forget(std::uint64_t ticket) {
  const auto found = streams_.find(ticket);
  if (found == streams_.end()) return;
  calls_.at(found->second)->is_told = true;
  static_cast<void>(api_.submit_rst_stream(session_, 0, found->second, http2::error::cancel));
  streams_.erase(found);
}

bool ReplicaLine::take(std::uint32_t events) {
  if (!is_connected_) {
    const Connecting how = connecting(socket(), events, why_);
    if (how != Connecting::done) return how == Connecting::waits;
    is_connected_ = true;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return true;
  for (;;) {
    const auto count = transport_->receive(buffer);
    if (!count) return fail(why_over(*transport_));
    if (*count == 0) return true;
    quiet_looks_ = 0;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(buffer.data());
    if (api_.mem_recv(session_, bytes, *count) < 0 || api_.want_read(session_) == 0)
      return fail("the server does not speak HTTP/2, or has ended that");
    if (*count < buffer.size()) return true;
  }
}

bool ReplicaLine::flush() {
  if (!is_connected_) return true;
  for (;;) {
    while (out_.bytes() < most_queued_bytes) {
      const std::uint8_t* data = nullptr;
      const ssize_t count = api_.mem_send(session_, &data);
      if (count < 0) return fail("the server does not speak HTTP/2");
      if (count == 0) break;
      out_.append({reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(count)});
    }
    if (out_.empty()) return true;
    const bool was_blocked = transport_->is_blocked();
    const std::size_t before = out_.bytes();
    if (!transport_->send(out_)) return fail("the connection is broken");
    if (was_blocked && out_.bytes() < before) quiet_looks_ = 0;  // it reads, if slowly
    if (!out_.empty()) return true;                              // it takes no more for now
  }
}

ReplicaLine::LineCall* ReplicaLine::find(std::int32_t stream) noexcept {
  const auto found = calls_.find(stream);
  return found == calls_.end() ? nullptr : found->second.get();
}

void ReplicaLine::take_header(LineCall& call, std::string_view name, std::string_view value) {
  if (name == ":status") {
    call.http_status = status_of(value, 0);
  } else if (name == "grpc-status") {
    call.grpc_status = status_of(value, unknown);
  } else if (name == "grpc-message") {
    call.text = decoded(value);
  } else if (name == frontend::load_header) {
    if (const auto wait_ns = reported_wait_ns(value)) call.wait_ns = wait_ns;
  }
}

void ReplicaLine::take_data(LineCall& call, isolation::Bytes data) {
  while (!data.empty() && !call.is_told && call.grpc_status < 0) {
    switch (call.reader.feed(data, params_.most_message_bytes)) {
      case frontend::MessageReader::State::more:
        break;
      case frontend::MessageReader::State::message:
        if (call.message) call.grpc_status = internal;  // a second one
        call.message = call.reader.take();
        break;
      case frontend::MessageReader::State::too_large:
      case frontend::MessageReader::State::no_room:
        call.grpc_status = resource_exhausted;
        call.text = "the answer has no room in the memory that may be used; ask again";
        static_cast<void>(api_.submit_rst_stream(session_, 0, call.stream, http2::error::cancel));
        return tell(call, http2::error::none);
    }
  }
}

void ReplicaLine::end_of_answer(LineCall& call) {
  tell(call, http2::error::none);
  if (call.sent == call.prefix.size() + call.content.size()) return;
  // It was refused before it was sent.
  static_cast<void>(api_.submit_rst_stream(session_, 0, call.stream, http2::error::cancel));
}

void ReplicaLine::tell(LineCall& call, std::uint32_t error) {
  if (std::exchange(call.is_told, true)) return;
  streams_.erase(call.ticket);
  sink_.on_answer(call.ticket, answer_of(call, error));
}

LineAnswer ReplicaLine::answer_of(LineCall& call, std::uint32_t error) const {
  LineAnswer answer{.status = call.grpc_status, .text = call.text, .wait_ns = call.wait_ns};
  if (call.grpc_status < 0) {
    // A proxy before it, say; or it was reset.
    answer.status = call.http_status == 200 && error == http2::error::none ? internal : unavailable;
    answer.text = error == http2::error::none
                      ? "the call ended with HTTP status " + std::to_string(call.http_status)
                      : "the call was reset with error " + std::to_string(error);
  } else if (call.grpc_status == 0) {
    if (call.message && !call.message->is_compressed) {
      answer.message = std::move(*call.message);
    } else {
      answer.status = internal;
      answer.text = "the answer is not one whole message without compression";
    }
  }
  return answer;
}

void ReplicaLine::close(std::int32_t stream, std::uint32_t error) {
  const auto found = calls_.find(stream);
  if (found == calls_.end()) return;
  const std::unique_ptr<LineCall> call = std::move(found->second);
  calls_.erase(found);
  tell(*call, error);
}

void ReplicaLine::send_out(LineCall& call, const std::uint8_t* header, std::size_t bytes) {
  out_.append({reinterpret_cast<const std::byte*>(header), frame_header_bytes});
  const std::string_view prefix = call.prefix;
  if (call.sent < prefix.size()) {
    const std::string_view part = prefix.substr(call.sent, bytes);
    out_.append({reinterpret_cast<const std::byte*>(part.data()), part.size()});
    call.sent += part.size();
    bytes -= part.size();
  }
  if (bytes == 0) return;
  out_.append(call.content.subspan(call.sent - prefix.size(), bytes), call.owner);
  call.sent += bytes;
}

}  // namespace engine::replicas
