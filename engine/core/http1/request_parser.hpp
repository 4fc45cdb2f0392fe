// HTTP/1.1 requests as they arrive, read by llhttp, strictly: what could be read in two ways is
// refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace engine::http1 {

/// What a request says before its body.
struct RequestHead {
  std::string method, target;
  /// Names in small letters; those of `RequestParser::wanted` alone, in the order they came in.
  std::vector<std::pair<std::string, std::string>> fields;
  std::optional<std::uint64_t> content_bytes;  ///< none: it comes in chunks, or there is none
  bool is_chunked = false;
  bool is_kept = false;       ///< the connection goes on behind the answer
  bool is_version_0 = false;  ///< HTTP/1.0
  bool expects_continue = false;

  /// The first of that name; empty where there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const noexcept {
    for (const auto& [found, value] : fields)
      if (found == name) return value;
    return {};
  }
};

/// Who hears of requests. What returns false ends the parser.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  [[nodiscard]] virtual bool on_head(const RequestHead& head) = 0;
  [[nodiscard]] virtual bool on_body(std::span<const std::byte> bytes) = 0;
  virtual void on_end() = 0;
};

/// One connection's requests, one after the other. One thread at a time.
class RequestParser {
 public:
  static constexpr std::string_view wanted[] = {
      "authorization",    "content-type",
      "content-encoding", "inference-header-content-length",
      "traceparent",      "endpoint-load-metrics-format"};
  static constexpr std::size_t most_target_bytes = 8 * 1024, most_head_bytes = 32 * 1024;

  enum class State : std::uint8_t {
    more,     ///< all that was given is taken
    end,      ///< a request is complete; what is left is the next one's
    stopped,  ///< the sink returned false
    failed,   ///< what came is no request that is taken: fault() and reason()
  };

  /// Why there can be none; empty if there can.
  [[nodiscard]] static std::string missing();
  /// `sink` must outlive it. Throws std::runtime_error if it is missing.
  explicit RequestParser(RequestSink& sink);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;
  ~RequestParser();

  /// Takes of `data` what belongs to one request, and moves it on.
  State feed(std::span<const std::byte>& data);
  /// Whether some of a request has come, and not all.
  [[nodiscard]] bool is_within() const noexcept;
  /// The HTTP status that a failure is answered with, and why.
  [[nodiscard]] int fault() const noexcept;
  [[nodiscard]] const std::string& reason() const noexcept;

 private:
  struct Parsing;
  std::unique_ptr<Parsing> parsing_;
};

}  // namespace engine::http1
