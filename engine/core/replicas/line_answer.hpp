// What lines to servers have in common: what they are told, and how their queries end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontend/message.hpp"
#include "tls/client_context.hpp"

namespace engine::replicas {

struct LineParams {
  std::size_t most_message_bytes = 64U << 20;  ///< of an answer
  std::string authorization;                   ///< a header's value; empty: none is sent
  /// A server that acknowledges nothing so long is lost, and one that says nothing where queries
  /// wait: asked whether it lives after a fifth of it; > 0.
  std::int64_t unheard_ms = 5'000;
  std::shared_ptr<const tls::ClientContext> tls = {};  ///< null: nothing is encrypted
};

/// Statuses of gRPC's that queries end with here.
constexpr int unknown = 2, resource_exhausted = 8, internal = 13, unavailable = 14;

/// How a query ended: a status of gRPC's, and its text or its message. Over REST the message is
/// what the server answered, whatever its status, unless it could not be asked.
struct LineAnswer {
  int status = 0;
  std::string text = {};
  frontend::Message message = {};
  std::optional<std::int64_t> wait_ns = {};  ///< that a new query would wait there, if it says so
  int http_status = 0;                       ///< of REST; 0: there is no answer
  std::string fields = {};                   ///< its head's lines that belong to the message
};

/// Hears of what a line's queries came to, within calls of the line.
class LineSink {
 public:
  virtual ~LineSink() = default;
  virtual void on_answer(std::uint64_t ticket, LineAnswer answer) = 0;
};

/// A text as the front end passes content on.
[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A whole number, and nothing else.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text) noexcept;

/// How long a new query would wait, of what a server reports (frontend/load_headers.hpp); nothing
/// where it does not say that.
[[nodiscard]] std::optional<std::int64_t> reported_wait_ns(std::string_view report) noexcept;

}  // namespace engine::replicas
