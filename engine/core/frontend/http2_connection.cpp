#include "frontend/http2_connection.hpp"

#include <algorithm>
#include <charconv>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "frontend/load_headers.hpp"
#include "frontend/session_callbacks.hpp"
#include "scheduler/clock.hpp"

namespace engine::frontend {

namespace {

/// A tensor of some megabytes arrives without a pause; what comes is taken at once, so that a
/// window holds no memory.
constexpr std::uint32_t stream_window = 4U << 20;
constexpr std::int32_t connection_window = 32 << 20;
constexpr std::uint32_t largest_frame = 1U << 20;
constexpr std::uint32_t most_header_bytes = 16 * 1024;
/// What waits to be written; what is left stays with its calls.
constexpr std::size_t most_queued_bytes = 1U << 20;
/// That a client may send of a call that was answered.
constexpr std::size_t most_in_vain_bytes = 1U << 20;

constexpr std::uint8_t no_copy = 2 | 4;  ///< of names and values that stay

http2::Field field(std::string_view name, std::string_view value, std::uint8_t flags) {
  return {reinterpret_cast<const std::uint8_t*>(name.data()),
          reinterpret_cast<const std::uint8_t*>(value.data()), name.size(), value.size(), flags};
}

}  // namespace

Http2Connection::Http2Connection(const http2::Api& api, std::unique_ptr<Transport> transport,
                                 std::uint64_t number, const ConnectionParams& params,
                                 CallHandler& handler)
    : Connection(std::move(transport), number), api_(api), params_(params), handler_(handler) {
  static const http2::Callbacks* const callbacks = SessionCallbacks::made(api);
  static const http2::Option* const options = SessionCallbacks::options(api);
  http2::check(api, api.server_new(&session_, callbacks, this, options), "a session");
  const http2::Setting settings[] = {
      {http2::setting::max_concurrent_streams, params.most_streams},
      {http2::setting::initial_window_size, stream_window},
      {http2::setting::max_frame_size, largest_frame},
      {http2::setting::max_header_list_size, most_header_bytes},
  };
  http2::check(api, api.submit_settings(session_, 0, settings, std::size(settings)), "settings");
  http2::check(api, api.set_local_window(session_, 0, 0, connection_window), "the window");
}

Http2Connection::~Http2Connection() {
  for (const auto& [stream, call] : calls_) handler_.on_gone(*call);
  api_.session_del(session_);
}

bool Http2Connection::take(Bytes data) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(data.data());
  return api_.mem_recv(session_, bytes, data.size()) >= 0;
}

bool Http2Connection::flush() {
  for (;;) {
    while (out_.bytes() < most_queued_bytes) {
      const std::uint8_t* data = nullptr;
      const ssize_t count = api_.mem_send(session_, &data);
      if (count < 0) return false;
      if (count == 0) break;
      out_.append({reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(count)});
    }
    if (out_.empty() && !is_blocked()) break;
    if (!transport().send(out_)) return false;
    if (!out_.empty()) return true;  // it takes no more for now
  }
  return api_.want_read(session_) != 0 || api_.want_write(session_) != 0;
}

Call* Http2Connection::find(std::int32_t stream) noexcept {
  const auto found = calls_.find(stream);
  return found == calls_.end() ? nullptr : found->second.get();
}

void Http2Connection::begin_call(std::int32_t stream) {
  calls_.emplace(stream, std::make_unique<Call>(stream, handler_.next_token()));
}

void Http2Connection::take_header(Call& call, std::string_view name, std::string_view value) {
  if (call.received_ns != 0) return;  // trailers
  if (name == ":path")
    call.path = value;
  else if (name == ":method")
    call.is_post = value == "POST";
  else if (name == "content-type")
    call.content_type = value;
  else if (name == "authorization" && call.authorization.empty())
    call.authorization = value;
  else if (name == "grpc-encoding")
    call.encoding = value;
  else if (name == "grpc-timeout")
    call.deadline_ns = timeout_ns(value).value_or(0);
  else if (name == "traceparent" && value.size() <= longest_trace_parent)
    call.trace_parent = value;
  else if (name == load_format_header)
    call.wants_load = value == load_format;
}

void Http2Connection::headers_end(Call& call) {
  call.received_ns = now_ns();
  if (call.deadline_ns != 0) call.deadline_ns += call.received_ns;
  if (!call.is_post) return reject(call, 405);
  if (!call.content_type.starts_with("application/grpc")) return reject(call, 415);
  call.method = method_of(call.path);
  handler_.on_call(*this, call);
}

/// For who does not speak gRPC.
void Http2Connection::reject(Call& call, int http_status) {
  const std::string code = std::to_string(http_status);
  const http2::Field fields[] = {field(":status", code, 0)};
  call.has_begun = true;
  call.end(Status::internal);
  api_.submit_response(session_, call.stream, fields, 1, nullptr);
}

void Http2Connection::take_data(Call& call, Bytes data) {
  while (!data.empty() && !call.has_ended) {
    switch (call.reader.feed(data, params_.most_message_bytes)) {
      case MessageReader::State::more:
        break;
      case MessageReader::State::message:
        handler_.on_message(*this, call, call.reader.take());
        break;
      case MessageReader::State::too_large:
        call.end(Status::resource_exhausted,
                 "Received message larger than max (" + std::to_string(call.reader.announced()) +
                     " vs. " + std::to_string(params_.most_message_bytes) +
                     ")");  // as gRPC's own servers
        go_on(call);
        break;
      case MessageReader::State::no_room:
        end_for_memory(call);
    }
  }
  if (call.has_ended) return cut_off(call);
  // A stream's answers that wait hold back what is asked (Frontend::send_ready_items).
  if (call.method != Method::stream_infer) consume(call);
}

void Http2Connection::end_for_memory(Call& call) {
  call.end(Status::resource_exhausted, "the server's memory limit was reached; ask again");
  go_on(call);
}

bool Http2Connection::end_receipts() {
  bool any = false;
  for (const auto& [stream, call] : calls_) {
    if (call->has_ended || !call->reader.is_within()) continue;
    end_for_memory(*call);
    any = true;
  }
  return any;
}

bool Http2Connection::end_slow(std::int64_t now_ns) {
  if (params_.body_ns == 0) return true;
  for (const auto& [stream, call] : calls_) {
    if (call->is_complete || call->has_ended) continue;
    const bool has_headers = call->received_ns != 0;
    if (!has_headers && now_ns - quiet_since_ns() > params_.body_ns) return false;
    if (!has_headers || call->method != Method::infer) continue;
    if (now_ns - call->received_ns <= params_.body_ns) continue;
    call->end(Status::deadline_exceeded, "the query took too long to come");
    go_on(*call);
  }
  return true;
}

/// It was answered before all of it came. Clients stop when they see that; a reset that comes with
/// the answer makes gRPC's forget it. Who goes on all the same is reset.
void Http2Connection::cut_off(const Call& call) {
  if (call.unconsumed_bytes > most_in_vain_bytes)
    static_cast<void>(api_.submit_rst_stream(session_, 0, call.stream, http2::error::none));
}

void Http2Connection::consume(Call& call) {
  if (call.unconsumed_bytes == 0) return;
  static_cast<void>(api_.consume_stream(session_, call.stream, call.unconsumed_bytes));
  call.unconsumed_bytes = 0;
}

void Http2Connection::half_close(Call& call) {
  call.is_complete = true;
  if (call.has_ended) return;
  if (call.reader.is_within()) {
    call.end(Status::internal, "the call ended within a message");
    return go_on(call);
  }
  handler_.on_complete(*this, call);
}

void Http2Connection::close_call(std::int32_t stream) {
  const auto found = calls_.find(stream);
  if (found == calls_.end()) return;
  const std::unique_ptr<Call> call = std::move(found->second);
  calls_.erase(found);
  handler_.on_gone(*call);
}

void Http2Connection::go_on(Call& call) {
  if (call.has_begun) {
    static_cast<void>(api_.resume_data(session_, call.stream));
    return;
  }
  call.has_begun = true;
  static constexpr std::string_view grpc = "application/grpc";
  if (call.has_ended && call.out_bytes == 0) {
    const std::string code = std::to_string(static_cast<int>(call.status));
    const std::string message = encoded_message(call.text);
    std::vector<http2::Field> fields = {
        field(":status", "200", no_copy), field("content-type", grpc, no_copy),
        field("grpc-status", code, 0), field("grpc-message", message, 0)};
    if (call.status == Status::unimplemented)
      fields.push_back(field("grpc-accept-encoding", "identity,deflate,gzip", no_copy));
    if (!call.load.empty()) fields.push_back(field(load_header, call.load, 0));
    api_.submit_response(session_, call.stream, fields.data(), fields.size(), nullptr);
    return;
  }
  const http2::Field fields[] = {field(":status", "200", no_copy),
                                 field("content-type", grpc, no_copy)};
  const http2::DataProvider provider{&call, SessionCallbacks::read};
  api_.submit_response(session_, call.stream, fields, 2, &provider);
}

ssize_t Http2Connection::provide(Call& call, std::size_t most, std::uint32_t& flags) {
  const std::size_t count = std::min(most, call.out_bytes);
  if (count == 0 && !call.has_ended) return http2::status::deferred;
  if (count > 0) flags |= http2::data_flag::no_copy;
  if (call.has_ended && count == call.out_bytes) {
    flags |= http2::data_flag::eof | http2::data_flag::no_end_stream;
    submit_trailer(call);
  }
  return static_cast<ssize_t>(count);
}

void Http2Connection::submit_trailer(Call& call) {
  const std::string code = std::to_string(static_cast<int>(call.status));
  const std::string message = encoded_message(call.text);
  http2::Field fields[3] = {field("grpc-status", code, 0)};
  std::size_t count = 1;
  if (call.status != Status::ok) fields[count++] = field("grpc-message", message, 0);
  if (!call.load.empty()) fields[count++] = field(load_header, call.load, 0);
  api_.submit_trailer(session_, call.stream, fields, count);
}

void Http2Connection::send_out(Call& call, std::size_t bytes) {
  call.out_bytes -= bytes;
  while (bytes > 0) {
    OutPart& part = call.out.front();
    const Bytes left = part.bytes().subspan(call.first_offset);
    const std::size_t count = std::min(bytes, left.size());
    out_.append(left.first(count), part.owner);
    bytes -= count;
    call.first_offset += count;
    if (count < left.size()) break;
    call.out.pop_front();
    call.first_offset = 0;
  }
}

void Http2Connection::say_goodbye() {
  static_cast<void>(
      api_.submit_goaway(session_, 0, api_.last_stream(session_), http2::error::none, nullptr, 0));
}

}  // namespace engine::frontend
