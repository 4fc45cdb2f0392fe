#include "frontend/rest.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace engine::frontend {

namespace {

constexpr char32_t replacement = 0xFFFD;

/// The code point at the front, and goes behind it; `replacement` and one byte on where there is
/// none, with `is_well` false.
char32_t take_code_point(std::string_view& text, bool& is_well) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  std::size_t length = 0;
  char32_t found = 0, least = 0;
  if (first < 0x80) {
    text.remove_prefix(1);
    return first;
  }
  if (first >= 0xC2 && first < 0xE0) {
    length = 2, found = first & 0x1F, least = 0x80;
  } else if (first >= 0xE0 && first < 0xF0) {
    length = 3, found = first & 0x0F, least = 0x800;
  } else if (first >= 0xF0 && first < 0xF5) {
    length = 4, found = first & 0x07, least = 0x10000;
  }
  bool fits = length > 0 && text.size() >= length;
  for (std::size_t i = 1; fits && i < length; ++i) {
    fits = (byte(i) & 0xC0) == 0x80;
    found = found << 6 | (byte(i) & 0x3F);
  }
  const bool is_half = found >= 0xD800 && found < 0xE000;  // of a surrogate pair
  if (!fits || found < least || found > 0x10FFFF || is_half) {
    is_well = false;
    text.remove_prefix(1);
    return replacement;
  }
  text.remove_prefix(length);
  return found;
}

void put_escape(std::string& to, char32_t unit) {
  constexpr std::string_view digits = "0123456789abcdef";
  to += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) to += digits[unit >> shift & 15];
}

}  // namespace

Method rest_method(Rest& rest) noexcept {
  constexpr std::string_view models = "/v2/models/", versions = "/versions/", infer = "/infer",
                             ready = "/ready";
  std::string_view path = rest.head.target;
  const bool is_get = rest.head.method == "GET";
  if (is_get && path == "/v2/health/live") return Method::live;
  if (is_get && path == "/v2/health/ready") return Method::server_ready;
  const std::string_view asked = is_get ? ready : infer;
  if (!is_get && rest.head.method != "POST") return Method::other;
  if (!path.starts_with(models) || !path.ends_with(asked)) return Method::other;
  path.remove_prefix(models.size());
  path.remove_suffix(std::min(asked.size(), path.size()));
  if (path.find_first_of("%?#") != path.npos) return Method::other;
  const std::size_t end = path.find('/');
  const std::string_view model = path.substr(0, end);
  std::string_view version;
  if (end != path.npos) {
    version = path.substr(end);
    if (!version.starts_with(versions)) return Method::other;
    version.remove_prefix(versions.size());
    if (version.empty() || version.find('/') != version.npos) return Method::other;
  }
  if (model.empty()) return Method::other;
  rest.model = model;
  rest.version = version;
  return is_get ? Method::model_ready : Method::infer;
}

int http_status(Status status) noexcept {
  switch (status) {
    case Status::ok:
      return 200;
    case Status::cancelled:
      return 499;
    case Status::invalid_argument:
      return 400;
    case Status::deadline_exceeded:
      return 504;
    case Status::not_found:
      return 404;
    case Status::permission_denied:
      return 403;
    case Status::unauthenticated:
      return 401;
    case Status::resource_exhausted:
      return 429;
    case Status::unimplemented:
      return 501;
    case Status::unavailable:
      return 503;
    case Status::unknown:
    case Status::internal:
      break;
  }
  return 500;
}

Status status_of(int http_status) noexcept {
  if (http_status >= 200 && http_status < 300) return Status::ok;
  switch (http_status) {
    case 401:
      return Status::unauthenticated;
    case 403:
      return Status::permission_denied;
    case 404:
      return Status::not_found;
    case 429:
      return Status::resource_exhausted;
    case 499:
      return Status::cancelled;
    case 501:
      return Status::unimplemented;
    case 502:  // of a proxy that finds nobody
    case 503:
      return Status::unavailable;
    case 504:
      return Status::deadline_exceeded;
    default:
      return http_status >= 400 && http_status < 500 ? Status::invalid_argument : Status::internal;
  }
}

std::string_view reason_phrase(int status) noexcept {
  struct Row {
    int status;
    std::string_view phrase;
  };
  static constexpr std::array rows{
      Row{200, "OK"},
      Row{400, "Bad Request"},
      Row{401, "Unauthorized"},
      Row{403, "Forbidden"},
      Row{404, "Not Found"},
      Row{405, "Method Not Allowed"},
      Row{408, "Request Timeout"},
      Row{413, "Request Entity Too Large"},
      Row{414, "URI Too Long"},
      Row{415, "Unsupported Media Type"},
      Row{417, "Expectation Failed"},
      Row{429, "Too Many Requests"},
      Row{431, "Request Header Fields Too Large"},
      Row{500, "Internal Server Error"},
      Row{501, "Not Implemented"},
      Row{503, "Service Unavailable"},
      Row{504, "Gateway Timeout"},
      Row{505, "HTTP Version Not Supported"},
  };
  for (const auto& [found, phrase] : rows)
    if (found == status) return phrase;
  return {};
}

void put_json_text(std::string& to, std::string_view text) {
  bool is_well = true;
  to += '"';
  while (!text.empty()) {
    const char32_t point = take_code_point(text, is_well);
    switch (point) {
      case '"':
        to += "\\\"";
        break;
      case '\\':
        to += "\\\\";
        break;
      case '\n':
        to += "\\n";
        break;
      case '\r':
        to += "\\r";
        break;
      case '\t':
        to += "\\t";
        break;
      case '\b':
        to += "\\b";
        break;
      case '\f':
        to += "\\f";
        break;
      default:
        if (point >= 0x10000) {
          put_escape(to, 0xD800 + ((point - 0x10000) >> 10));
          put_escape(to, 0xDC00 + ((point - 0x10000) & 0x3FF));
        } else if (point < ' ' || point > '~') {
          put_escape(to, point);
        } else {
          to += static_cast<char>(point);
        }
    }
  }
  to += '"';
}

bool is_utf8(std::string_view text) noexcept {
  bool is_well = true;
  while (is_well && !text.empty()) static_cast<void>(take_code_point(text, is_well));
  return is_well;
}

}  // namespace engine::frontend
