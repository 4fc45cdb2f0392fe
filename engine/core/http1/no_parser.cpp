// Where llhttp could not be had.
#include <stdexcept>

#include "http1/request_parser.hpp"
#include "http1/response_parser.hpp"

namespace engine::http1 {

struct RequestParser::Parsing {
  std::string reason;
};

std::string RequestParser::missing() { return "this build of the core is without llhttp"; }

RequestParser::RequestParser(RequestSink&) { throw std::runtime_error(missing()); }
RequestParser::~RequestParser() = default;
RequestParser::State RequestParser::feed(std::span<const std::byte>&) { return State::failed; }
bool RequestParser::is_within() const noexcept { return false; }
int RequestParser::fault() const noexcept { return 501; }
const std::string& RequestParser::reason() const noexcept { return parsing_->reason; }

struct ResponseParser::Parsing {
  std::string reason;
};

ResponseParser::ResponseParser(ResponseSink&) {
  throw std::runtime_error(RequestParser::missing());
}
ResponseParser::~ResponseParser() = default;
ResponseParser::State ResponseParser::feed(std::span<const std::byte>&) { return State::failed; }
ResponseParser::State ResponseParser::finish() { return State::failed; }
const std::string& ResponseParser::reason() const noexcept { return parsing_->reason; }

}  // namespace engine::http1
