// HTTP/1.1 answers as they arrive, read by llhttp, as strictly as requests.
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

/// What an answer says before its body.
struct ResponseHead {
  int status = 0;
  /// Names in small letters; those of `ResponseParser::wanted` alone, in the order they came in.
  std::vector<std::pair<std::string, std::string>> fields;
  std::optional<std::uint64_t> content_bytes;  ///< none: it comes in chunks, or until the end
  bool is_kept = false;                        ///< the connection goes on behind it

  /// The first of that name; empty where there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const noexcept {
    for (const auto& [found, value] : fields)
      if (found == name) return value;
    return {};
  }
};

/// Who hears of answers. What returns false ends the parser.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  [[nodiscard]] virtual bool on_head(const ResponseHead& head) = 0;
  [[nodiscard]] virtual bool on_body(std::span<const std::byte> bytes) = 0;
};

/// One connection's answers, one after the other; those that say that another one follows are
/// passed over. One thread at a time.
class ResponseParser {
 public:
  static constexpr std::string_view wanted[] = {"content-type", "content-encoding",
                                                "inference-header-content-length",
                                                "endpoint-load-metrics"};
  static constexpr std::size_t most_head_bytes = 32 * 1024;

  enum class State : std::uint8_t {
    more,     ///< all that was given is taken
    end,      ///< an answer is complete; what is left belongs to none
    stopped,  ///< the sink returned false
    failed,   ///< what came is no answer: reason()
  };

  /// `sink` must outlive it. Throws std::runtime_error where there is no parser
  /// (RequestParser::missing()).
  explicit ResponseParser(ResponseSink& sink);
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;
  ~ResponseParser();

  /// Takes of `data` what belongs to one answer, and moves it on.
  State feed(std::span<const std::byte>& data);
  /// Nothing comes any more: `end` where that ends an answer, `more` where none had begun.
  State finish();
  [[nodiscard]] const std::string& reason() const noexcept;

 private:
  struct Parsing;
  std::unique_ptr<Parsing> parsing_;
};

}  // namespace engine::http1
