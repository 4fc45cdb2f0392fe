// What REST adds to a call: paths, heads, statuses.
#pragma once

#include <string>
#include <string_view>

#include "frontend/grpc.hpp"
#include "frontend/method.hpp"
#include "http1/request_parser.hpp"

namespace engine::frontend {

/// Of a call that came over HTTP/1.1.
struct Rest {
  explicit Rest(const http1::RequestHead& its_head) : head(its_head) {}

  http1::RequestHead head;
  std::string_view model, version;  ///< of a query, as the path names them; in `head`
  // Of the answer, whose body is what the call sends.
  int status = 0;      ///< 0: that of the call's own status, and its text for a body
  std::string fields;  ///< lines, as `Content-Type: text/plain\r\n`
};

/// What is answered here; sets model and version of a query. Names that are encoded are left to
/// Python.
[[nodiscard]] Method rest_method(Rest& rest) noexcept;

/// The HTTP status of one of gRPC's.
[[nodiscard]] int http_status(Status status) noexcept;

/// The status of gRPC's that has that HTTP status, or what comes next to it.
[[nodiscard]] Status status_of(int http_status) noexcept;

/// What is said of a status; empty for one that we never give.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

/// A text in JSON, in quotation marks, of ASCII alone, as Python's json writes it. What is not
/// UTF-8 becomes U+FFFD.
void put_json_text(std::string& to, std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace engine::frontend
