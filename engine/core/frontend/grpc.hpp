// What gRPC says in headers: timeouts, statuses, texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace engine::frontend {

/// gRPC's status codes, as the protocol's faces use them.
enum class Status : std::uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  permission_denied = 7,
  resource_exhausted = 8,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  unauthenticated = 16,
};

/// Longer ones are taken for that, so that moments stay within 64 bits: a year.
inline constexpr std::int64_t longest_timeout_ns = std::int64_t{366} * 24 * 3'600'000'000'000;

/// Nanoseconds of a `grpc-timeout`; nothing where it is none.
[[nodiscard]] std::optional<std::int64_t> timeout_ns(std::string_view text) noexcept;

/// A text as `grpc-message` carries it: percent-encoded, of 1.5 kB at most.
[[nodiscard]] std::string encoded_message(std::string_view text);

}  // namespace engine::frontend
