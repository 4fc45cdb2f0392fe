#include "http1/request_parser.hpp"

#include "http1/head_fields.hpp"
#include "http1/llhttp_calls.hpp"

namespace engine::http1 {

struct RequestParser::Parsing {
  explicit Parsing(RequestSink& its_sink) : sink(its_sink) {
    static const llhttp_settings_t settings = callbacks();
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = this;
  }

  using Calls = LlhttpCalls<Parsing>;
  static llhttp_settings_t callbacks() {
    llhttp_settings_t found;
    llhttp_settings_init(&found);
    found.on_message_begin = Calls::moment<&Parsing::begin>;
    found.on_url = Calls::text<&Parsing::take_target>;
    found.on_header_field = Calls::text<&Parsing::take_name>;
    found.on_header_value = Calls::text<&Parsing::take_value>;
    found.on_header_value_complete = Calls::moment<&Parsing::end_field>;
    found.on_headers_complete = Calls::moment<&Parsing::end_head>;
    found.on_body = Calls::text<&Parsing::take_body>;
    found.on_message_complete = [](llhttp_t* parser) -> int {
      static_cast<Parsing*>(parser->data)->is_within = false;
      return HPE_PAUSED;
    };
    return found;
  }

  bool begin() {
    head = {};
    fields.clear();
    head_bytes = 0;
    in_head = is_within = true;
    return true;
  }
  bool take_target(std::string_view piece) {
    if (head.target.size() + piece.size() > most_target_bytes)
      return refuse(414, "its target is longer than " + std::to_string(most_target_bytes));
    head.target += piece;
    return count(piece.size());
  }
  bool take_name(std::string_view piece) {
    fields.add_to_name(piece);
    return count(piece.size());
  }
  bool take_value(std::string_view piece) {
    fields.add_to_value(piece);
    return count(piece.size());
  }
  /// In trailers, too, of which nothing is taken.
  bool end_field() {
    if (in_head) {
      fields.take(wanted, head.fields);
      if (fields.name() == "expect" && !take_expectation()) return false;
    }
    fields.next();
    return count(HeadFields::each_bytes);
  }
  bool take_expectation() {
    head.expects_continue = same(fields.value(), "100-continue");
    return head.expects_continue || refuse(417, "of expectations 100-continue alone is met");
  }
  bool end_head() {
    in_head = false;
    if (parser.http_major != 1) return refuse(505, "HTTP/1.1 is spoken here");
    if (parser.method == HTTP_CONNECT) return refuse(405, "this is no proxy");
    if (fields.is_coded_otherwise())
      return refuse(501, "of transfer codings chunked alone is taken");
    parser.upgrade = 0;  // we go on in HTTP/1.1, as who offers another protocol must expect
    head.method = llhttp_method_name(static_cast<llhttp_method_t>(parser.method));
    head.is_chunked = (parser.flags & F_CHUNKED) != 0;
    if ((parser.flags & F_CONTENT_LENGTH) != 0) head.content_bytes = parser.content_length;
    head.is_kept = llhttp_should_keep_alive(&parser) != 0;
    head.is_version_0 = parser.http_minor == 0;
    return stop_unless(sink.on_head(head));
  }
  bool take_body(std::string_view piece) {
    return stop_unless(
        sink.on_body({reinterpret_cast<const std::byte*>(piece.data()), piece.size()}));
  }

  void has_no_memory() { refuse(503, "no memory"); }
  bool count(std::size_t bytes) {
    head_bytes += bytes;
    return head_bytes <= most_head_bytes ||
           refuse(431, "its head is longer than " + std::to_string(most_head_bytes));
  }
  bool refuse(int with, std::string why) {
    fault = with;
    reason = std::move(why);
    return false;
  }
  bool stop_unless(bool goes_on) {
    is_stopped = !goes_on;
    return goes_on;
  }

  RequestSink& sink;
  llhttp_t parser{};
  RequestHead head;
  HeadFields fields;
  std::size_t head_bytes = 0;
  bool in_head = false, is_within = false, is_stopped = false;
  int fault = 0;
  std::string reason;
};

std::string RequestParser::missing() { return {}; }

RequestParser::RequestParser(RequestSink& sink) : parsing_(std::make_unique<Parsing>(sink)) {}
RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::feed(std::span<const std::byte>& data) {
  Parsing& parsing = *parsing_;
  const auto* const begin = reinterpret_cast<const char*>(data.data());
  switch (const llhttp_errno_t code = llhttp_execute(&parsing.parser, begin, data.size())) {
    case HPE_OK:
      data = {};
      return State::more;
    case HPE_PAUSED:
      data = data.subspan(static_cast<std::size_t>(llhttp_get_error_pos(&parsing.parser) - begin));
      llhttp_resume(&parsing.parser);
      parsing.sink.on_end();
      return State::end;
    default:
      data = {};
      if (parsing.is_stopped) return State::stopped;
      if (parsing.fault == 0) {
        const char* const why = llhttp_get_error_reason(&parsing.parser);
        parsing.refuse(400, why == nullptr ? llhttp_errno_name(code) : why);
      }
      return State::failed;
  }
}

bool RequestParser::is_within() const noexcept { return parsing_->is_within; }
int RequestParser::fault() const noexcept { return parsing_->fault; }
const std::string& RequestParser::reason() const noexcept { return parsing_->reason; }

}  // namespace engine::http1
