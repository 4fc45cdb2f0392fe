// A connection to one server, over which it is asked by REST.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "frontend/content.hpp"
#include "frontend/out_queue.hpp"
#include "frontend/transport.hpp"
#include "http1/response_parser.hpp"
#include "isolation/query_link.hpp"
#include "replicas/line_answer.hpp"
#include "replicas/server_address.hpp"

namespace engine::replicas {

/// A query over REST, as it is sent.
struct RestQuery {
  std::uint64_t ticket = 0;
  std::string head;  ///< its first line, and those that belong to its content
  isolation::Bytes content;
  std::shared_ptr<const void> owner;  ///< of the content
  bool may_repeat = true;             ///< where the connection turns out to have ended before
};

/// HTTP/1.1, one query at a time. A query that is asked before it is connected waits for that. One
/// thread at a time; never blocks.
class RestLine final : private http1::ResponseSink {
 public:
  /// `params` and `address` must outlive it. Begins to connect; throws std::system_error without
  /// descriptors, std::runtime_error without the parser.
  RestLine(const LineParams& params, const ServerAddress& address);
  /// Over a transport that is there, to an address that must outlive it.
  RestLine(const LineParams& params, const ServerAddress& address,
           std::unique_ptr<frontend::Transport> transport);
  RestLine(const RestLine&) = delete;
  RestLine& operator=(const RestLine&) = delete;
  ~RestLine() override;

  enum class State : std::uint8_t {
    waits,     ///< for what it is asked, or for its answer
    answered,  ///< take_answer()
    lost,      ///< why() says why
  };

  /// Asks; it has nothing else to do. The content is kept until it is answered.
  void ask(RestQuery query);
  /// What epoll says of its socket.
  [[nodiscard]] State take(std::uint32_t events);
  /// Sends what the socket takes.
  [[nodiscard]] State flush();
  /// To what was asked, once.
  [[nodiscard]] LineAnswer take_answer();
  /// What was asked and not answered, if anything: to be asked over another one.
  [[nodiscard]] std::optional<RestQuery> take_query();

  [[nodiscard]] const std::optional<RestQuery>& query() const noexcept { return query_; }
  /// Whether further queries may be asked over it.
  [[nodiscard]] bool is_kept() const noexcept { return is_kept_; }
  /// Whether it may have ended before the query that it is asked now: it has answered others, and
  /// says nothing to this one.
  [[nodiscard]] bool may_be_stale() const noexcept { return has_answered_ && !has_heard_; }
  [[nodiscard]] const std::string& why() const noexcept { return why_; }
  [[nodiscard]] const ServerAddress& address() const noexcept { return address_; }
  [[nodiscard]] int socket() const noexcept { return transport_->socket(); }
  /// For its socket, as of epoll.
  [[nodiscard]] std::uint32_t events() const noexcept;

 private:
  [[nodiscard]] bool on_head(const http1::ResponseHead& head) override;
  [[nodiscard]] bool on_body(std::span<const std::byte> bytes) override;

  [[nodiscard]] State read();
  [[nodiscard]] State parse(isolation::Bytes came);
  [[nodiscard]] State end(bool goes_on);
  [[nodiscard]] State lose(std::string why);

  const LineParams& params_;
  const ServerAddress& address_;
  std::unique_ptr<frontend::Transport> transport_;
  http1::ResponseParser parser_;
  std::optional<RestQuery> query_;
  frontend::OutQueue out_;
  frontend::Content content_;  ///< of the answer
  LineAnswer answer_;
  bool is_connected_ = false, is_kept_ = true, has_answered_ = false, has_heard_ = false;
  std::string why_;
};

}  // namespace engine::replicas
