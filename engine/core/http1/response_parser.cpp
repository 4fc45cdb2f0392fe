#include "http1/response_parser.hpp"

#include "http1/head_fields.hpp"
#include "http1/llhttp_calls.hpp"

namespace engine::http1 {

namespace {

constexpr int first_final = 200;

}  // namespace

struct ResponseParser::Parsing {
  explicit Parsing(ResponseSink& its_sink) : sink(its_sink) {
    static const llhttp_settings_t settings = callbacks();
    llhttp_init(&parser, HTTP_RESPONSE, &settings);
    parser.data = this;
  }

  using Calls = LlhttpCalls<Parsing>;
  static llhttp_settings_t callbacks() {
    llhttp_settings_t found;
    llhttp_settings_init(&found);
    found.on_message_begin = Calls::moment<&Parsing::begin>;
    found.on_status = Calls::text<&Parsing::take_phrase>;
    found.on_header_field = Calls::text<&Parsing::take_name>;
    found.on_header_value = Calls::text<&Parsing::take_value>;
    found.on_header_value_complete = Calls::moment<&Parsing::end_field>;
    found.on_headers_complete = Calls::moment<&Parsing::end_head>;
    found.on_body = Calls::text<&Parsing::take_body>;
    found.on_message_complete = [](llhttp_t* parser) -> int {
      return parser->status_code < first_final ? HPE_OK : HPE_PAUSED;
    };
    return found;
  }

  /// Behind one that another one follows, too: both heads count together.
  bool begin() {
    if (head.status >= first_final || head.status == 0) head_bytes = 0;
    head = {};
    fields.clear();
    in_head = true;
    return true;
  }
  bool take_phrase(std::string_view piece) { return count(piece.size()); }
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
    }
    fields.next();
    return count(HeadFields::each_bytes);
  }
  bool end_head() {
    in_head = false;
    head.status = parser.status_code;
    if (parser.http_major != 1) return refuse("it is not of HTTP/1.1");
    if (head.status == HTTP_STATUS_SWITCHING_PROTOCOLS || head.status < 100)
      return refuse("its status is " + std::to_string(head.status));
    if (fields.is_coded_otherwise()) return refuse("of transfer codings chunked alone is taken");
    parser.upgrade = 0;  // we go on in HTTP/1.1
    if (head.status < first_final) return count(HeadFields::each_bytes);
    if ((parser.flags & F_CONTENT_LENGTH) != 0) head.content_bytes = parser.content_length;
    head.is_kept = llhttp_should_keep_alive(&parser) != 0;
    return stop_unless(sink.on_head(head));
  }
  bool take_body(std::string_view piece) {
    if (head.status < first_final) return refuse("a status of 1xx has a body");
    return stop_unless(
        sink.on_body({reinterpret_cast<const std::byte*>(piece.data()), piece.size()}));
  }

  void has_no_memory() { refuse("no memory"); }
  bool count(std::size_t bytes) {
    head_bytes += bytes;
    return head_bytes <= most_head_bytes ||
           refuse("its head is longer than " + std::to_string(most_head_bytes));
  }
  bool refuse(std::string why) {
    reason = std::move(why);
    return false;
  }
  bool stop_unless(bool goes_on) {
    is_stopped = !goes_on;
    return goes_on;
  }
  State state_of(llhttp_errno_t code) {
    if (code == HPE_OK) return State::more;
    if (code == HPE_PAUSED) {
      llhttp_resume(&parser);
      return State::end;
    }
    if (is_stopped) return State::stopped;
    if (reason.empty()) {
      const char* const why = llhttp_get_error_reason(&parser);
      reason = why == nullptr ? llhttp_errno_name(code) : why;
    }
    return State::failed;
  }

  ResponseSink& sink;
  llhttp_t parser{};
  ResponseHead head;
  HeadFields fields;
  std::size_t head_bytes = 0;
  bool in_head = false, is_stopped = false;
  std::string reason;
};

ResponseParser::ResponseParser(ResponseSink& sink) : parsing_(std::make_unique<Parsing>(sink)) {}
ResponseParser::~ResponseParser() = default;

ResponseParser::State ResponseParser::feed(std::span<const std::byte>& data) {
  llhttp_t& parser = parsing_->parser;
  const auto* const begin = reinterpret_cast<const char*>(data.data());
  const llhttp_errno_t code = llhttp_execute(&parser, begin, data.size());
  if (code == HPE_PAUSED)
    data = data.subspan(static_cast<std::size_t>(llhttp_get_error_pos(&parser) - begin));
  else
    data = {};
  return parsing_->state_of(code);
}

ResponseParser::State ResponseParser::finish() {
  return parsing_->state_of(llhttp_finish(&parsing_->parser));
}

const std::string& ResponseParser::reason() const noexcept { return parsing_->reason; }

}  // namespace engine::http1
