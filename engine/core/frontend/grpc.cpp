#include "frontend/grpc.hpp"

#include <algorithm>
#include <cstddef>

namespace engine::frontend {

namespace {

/// Trailers hold 8 KiB, and a byte may take three.
constexpr std::size_t most_text_bytes = 1500;
constexpr std::size_t most_digits = 8;

std::int64_t unit_ns(char unit) noexcept {
  switch (unit) {
    case 'H':
      return 3'600'000'000'000;
    case 'M':
      return 60'000'000'000;
    case 'S':
      return 1'000'000'000;
    case 'm':
      return 1'000'000;
    case 'u':
      return 1'000;
    case 'n':
      return 1;
    default:
      return 0;
  }
}

}  // namespace

std::optional<std::int64_t> timeout_ns(std::string_view text) noexcept {
  if (text.size() < 2 || text.size() > most_digits + 1) return std::nullopt;
  const std::int64_t unit = unit_ns(text.back());
  if (unit == 0) return std::nullopt;
  std::int64_t number = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  return number > longest_timeout_ns / unit ? longest_timeout_ns : number * unit;
}

std::string encoded_message(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text.substr(0, std::min(text.size(), most_text_bytes))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7E && c != '%') {
      encoded.push_back(c);
    } else {
      encoded.push_back('%');
      encoded.push_back(digits[byte >> 4]);
      encoded.push_back(digits[byte & 15]);
    }
  }
  return encoded;
}

}  // namespace engine::frontend
