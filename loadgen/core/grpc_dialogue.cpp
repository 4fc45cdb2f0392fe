#include "grpc_dialogue.hpp"

#include <sys/types.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "grpc_status.hpp"

namespace loadgen {

namespace http2 = engine::http2;

namespace {

/// Answers are dropped as they come, so nobody has to wait for room.
constexpr std::uint32_t window_bytes = 0x7fffffff;
constexpr std::uint32_t frame_bytes = 1 << 18;
/// NGHTTP2_NV_FLAG_NO_COPY_NAME and _VALUE: they live as long as the session.
constexpr std::uint8_t not_copied = 2 | 4;

const std::uint8_t* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

std::string_view text_of(const std::uint8_t* data, std::size_t bytes) {
  return {reinterpret_cast<const char*>(data), bytes};
}

int number_of(std::string_view text, int otherwise) {
  int found = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), found);
  return found;
}

}  // namespace

struct GrpcDialogue::Calls {
  static GrpcDialogue& self(void* user) { return *static_cast<GrpcDialogue*>(user); }

  static Flight* flight(void* user, std::int32_t stream) {
    const GrpcDialogue& dialogue = self(user);
    return static_cast<Flight*>(dialogue.api_.stream_user(dialogue.session_, stream));
  }

  static int header(http2::Session*, const http2::FrameHeader* frame, const std::uint8_t* name,
                    std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                    std::uint8_t, void* user) noexcept {
    if (Flight* const found = flight(user, frame->stream))
      self(user).take_header(*found, text_of(name, name_bytes), text_of(value, value_bytes));
    return http2::status::ok;
  }

  static int chunk(http2::Session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                   std::size_t bytes, void* user) noexcept {
    if (Flight* const found = flight(user, stream)) self(user).take_data(*found, data, bytes);
    return http2::status::ok;
  }

  static int frame(http2::Session*, const http2::FrameHeader* frame, void* user) noexcept {
    if (frame->type == http2::frame::settings) self(user).is_ready_ = true;
    if (frame->type == http2::frame::goaway) self(user).is_draining_ = true;
    const bool has_end = frame->type == http2::frame::headers || frame->type == http2::frame::data;
    if (!has_end || (frame->flags & http2::frame::end_stream) == 0) return http2::status::ok;
    if (Flight* const found = flight(user, frame->stream)) self(user).end_of_answer(*found);
    return http2::status::ok;
  }

  static int closed(http2::Session*, std::int32_t stream, std::uint32_t error,
                    void* user) noexcept {
    if (Flight* const found = flight(user, stream)) self(user).close(*found, error);
    return http2::status::ok;
  }

  static ssize_t read(http2::Session*, std::int32_t, std::uint8_t*, std::size_t most,
                      std::uint32_t* flags, void** source, void* user) noexcept {
    const Flight& flight = *static_cast<Flight*>(*source);
    const std::size_t left = self(user).request_of(flight).size() - flight.sent;
    *flags |= http2::data_flag::no_copy;
    if (left <= most) *flags |= http2::data_flag::eof;
    return static_cast<ssize_t>(std::min(left, most));
  }

  static int send_data(http2::Session*, http2::FrameHeader* frame, const std::uint8_t* header,
                       std::size_t bytes, void** source, void* user) noexcept {
    Flight& flight = *static_cast<Flight*>(*source);
    Output& output = *self(user).output_;
    output.add(header, sizeof "123456789" - 1);  // a frame's header
    output.refer(bytes_of(self(user).request_of(flight)) + flight.sent, bytes);
    static_cast<void>(frame);
    flight.sent += bytes;
    return http2::status::ok;
  }

  static ssize_t frame_size(http2::Session*, std::uint8_t, std::int32_t, std::int32_t connection,
                            std::int32_t stream, std::uint32_t most, void*) noexcept {
    return std::min({static_cast<ssize_t>(connection), static_cast<ssize_t>(stream),
                     static_cast<ssize_t>(most)});
  }
};

GrpcDialogue::GrpcDialogue(const http2::Api& api, Prepared& prepared, Sink& sink)
    : api_(api), prepared_(prepared), sink_(sink) {
  for (const Request& request : prepared.requests) {
    auto& fields = fields_.emplace_back();
    for (const auto& [name, value] : request.headers)
      fields.push_back({bytes_of(name), bytes_of(value), name.size(), value.size(), not_copied});
  }
  http2::Callbacks* made = nullptr;
  http2::check(api, api.callbacks_new(&made), "making callbacks");
  const std::unique_ptr<http2::Callbacks, void (*)(http2::Callbacks*)> callbacks(made,
                                                                                 api.callbacks_del);
  api.set_on_header(made, Calls::header);
  api.set_on_frame_recv(made, Calls::frame);
  api.set_on_data_chunk_recv(made, Calls::chunk);
  api.set_on_stream_close(made, Calls::closed);
  api.set_send_data(made, Calls::send_data);
  api.set_data_read_length(made, Calls::frame_size);
  http2::check(api, api.client_new(&session_, made, this, nullptr), "making a session");
  const std::array<http2::Setting, 3> settings{
      http2::Setting{http2::setting::enable_push, 0},
      http2::Setting{http2::setting::initial_window_size, window_bytes},
      http2::Setting{http2::setting::max_frame_size, frame_bytes}};
  http2::check(api, api.submit_settings(session_, 0, settings.data(), settings.size()), "settings");
  http2::check(api, api.set_local_window(session_, 0, 0, window_bytes), "the window");
}

GrpcDialogue::~GrpcDialogue() { api_.session_del(session_); }

void GrpcDialogue::send(const Query& query) {
  Flight& flight = idle_flight();
  flight.query = query;
  flight.compared = prepared_.compared(query.request);
  const http2::DataProvider body{&flight, Calls::read};
  const auto& fields = fields_[query.request];
  flight.stream =
      api_.submit_request(session_, nullptr, fields.data(), fields.size(), &body, &flight);
  if (flight.stream > 0) return;
  is_draining_ = true;  // its numbers are used up
  flight.message = api_.strerror(flight.stream);
  close(flight, http2::error::refused_stream);
}

GrpcDialogue::Flight& GrpcDialogue::idle_flight() {
  if (idle_.empty()) {
    flights_.push_back(std::make_unique<Flight>());
    idle_.push_back(flights_.back().get());
  }
  Flight& flight = *idle_.back();
  idle_.pop_back();
  flight = Flight{};
  flight.is_open = true;
  ++open_;
  return flight;
}

const std::string& GrpcDialogue::request_of(const Flight& flight) const {
  return prepared_.requests[flight.query.request].bytes;
}

void GrpcDialogue::take_header(Flight& flight, std::string_view name, std::string_view value) {
  if (name == ":status")
    flight.http_status = number_of(value, 0);
  else if (name == "grpc-status")
    flight.grpc_status = number_of(value, 2);
  else if (name == "grpc-message")
    flight.message = value;
}

void GrpcDialogue::take_data(Flight& flight, const std::uint8_t* data, std::size_t bytes) {
  for (std::size_t at = flight.received; at < flight.prefix.size(); ++at) {
    if (at - flight.received == bytes) break;
    flight.prefix[at] = data[at - flight.received];
  }
  flight.received += bytes;
  flight.compared.add(data, bytes);
}

void GrpcDialogue::end_of_answer(Flight& flight) {
  tell(flight, http2::error::none);
  if (flight.sent == request_of(flight).size()) return;
  // It was refused before it was sent.
  static_cast<void>(api_.submit_rst_stream(session_, 0, flight.stream, http2::error::cancel));
}

void GrpcDialogue::close(Flight& flight, std::uint32_t error) {
  tell(flight, error);
  flight.is_open = false;
  idle_.push_back(&flight);
  --open_;
}

void GrpcDialogue::tell(Flight& flight, std::uint32_t error) {
  if (flight.is_told) return;
  flight.is_told = true;
  const std::string_view kind = kind_of(flight, error);
  sink_.answered(flight.query.row, kind, flight.message);
}

std::string_view GrpcDialogue::kind_of(Flight& flight, std::uint32_t error) const {
  if (flight.grpc_status > 0) return grpc_status_name(flight.grpc_status);
  if (flight.grpc_status < 0) {
    if (flight.message.empty())
      flight.message = error == http2::error::none
                           ? "the call ended without a status"
                           : "the call was reset with error " + std::to_string(error);
    if (error != http2::error::none) return grpc_status_of_reset(error);
    return grpc_status_of_http(flight.http_status);
  }
  const auto& prefix = flight.prefix;
  const std::size_t bytes = (std::size_t{prefix[1]} << 24) | (std::size_t{prefix[2]} << 16) |
                            (std::size_t{prefix[3]} << 8) | prefix[4];
  if (flight.received < prefix.size() || prefix[0] != 0 ||
      flight.received - prefix.size() != bytes) {
    flight.message = "the answer is not one whole message without compression";
    return grpc_status_name(13);
  }
  return flight.compared.end() ? "" : different_answer;
}

void GrpcDialogue::forget(std::uint32_t row) {
  for (const auto& flight : flights_) {
    if (!flight->is_open || flight->is_told || flight->query.row != row) continue;
    flight->is_told = true;
    static_cast<void>(api_.submit_rst_stream(session_, 0, flight->stream, http2::error::cancel));
    return;
  }
}

void GrpcDialogue::receive(const std::uint8_t* data, std::size_t bytes) {
  http2::check(api_, api_.mem_recv(session_, data, bytes), "reading");
  if (api_.want_read(session_) == 0) throw std::runtime_error("the peer does not speak HTTP/2");
}

void GrpcDialogue::write(Output& output) {
  output_ = &output;
  for (;;) {
    const std::uint8_t* data = nullptr;
    const ssize_t bytes = api_.mem_send(session_, &data);
    http2::check(api_, bytes, "writing");
    if (bytes == 0) break;
    output.add(data, static_cast<std::size_t>(bytes));
  }
  output_ = nullptr;
}

std::vector<std::uint32_t> GrpcDialogue::in_flight() const {
  std::vector<std::uint32_t> rows;
  for (const auto& flight : flights_)
    if (flight->is_open && !flight->is_told) rows.push_back(flight->query.row);
  return rows;
}

}  // namespace loadgen
