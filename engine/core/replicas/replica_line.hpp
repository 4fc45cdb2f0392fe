// A connection to one server, over which it is asked by gRPC.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "frontend/message.hpp"
#include "frontend/out_queue.hpp"
#include "frontend/transport.hpp"
#include "http2/api.hpp"
#include "isolation/query_link.hpp"
#include "replicas/line_answer.hpp"
#include "replicas/server_address.hpp"

namespace engine::replicas {

/// HTTP/2 by the library, one connection from connect() to its loss. Queries that are asked before
/// it is there wait for it. One thread at a time; never blocks.
class ReplicaLine {
 public:
  /// `params`, `address` and `sink` must outlive it. Begins to connect; throws std::system_error
  /// without descriptors, std::runtime_error if the library refuses.
  ReplicaLine(const http2::Api& api, const LineParams& params, const ServerAddress& address,
              LineSink& sink);
  ReplicaLine(const ReplicaLine&) = delete;
  ReplicaLine& operator=(const ReplicaLine&) = delete;
  ~ReplicaLine();

  /// Asks, with the next flush(). Its answer comes under `ticket`; the content is kept until then.
  void ask(std::uint64_t ticket, const isolation::LinkedQuery& query, std::int64_t now_ns);
  /// Nobody waits for it any more, nor hears of it.
  void forget(std::uint64_t ticket);
  /// What epoll says of its socket. False: it is lost; why() says why.
  [[nodiscard]] bool take(std::uint32_t events);
  /// Sends what the socket takes. False: as take().
  [[nodiscard]] bool flush();
  /// How often is_alive() is asked in `unheard_ms`, of a line where somebody waits.
  static constexpr int looks = 20;
  /// Asks the server whether it lives, with the next flush(), where nothing was heard of it for
  /// some looks. False: as take(), for it has not answered. Looks are counted rather than time, so
  /// that who looks late does not take its own sleep for the server's.
  [[nodiscard]] bool is_alive();

  [[nodiscard]] int socket() const noexcept { return transport_->socket(); }
  /// For its socket, as of epoll.
  [[nodiscard]] std::uint32_t events() const noexcept;
  /// Whether the server has spoken: it is one of HTTP/2.
  [[nodiscard]] bool is_up() const noexcept { return is_up_; }
  /// Whether the server takes no further queries over it.
  [[nodiscard]] bool is_leaving() const noexcept { return is_leaving_; }
  /// Whether no query is on its way.
  [[nodiscard]] bool is_idle() const noexcept { return calls_.empty(); }
  /// Whether it is lost because nothing was heard.
  [[nodiscard]] bool is_silent() const noexcept { return is_silent_; }
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  friend struct LineCallbacks;

  /// A call. What the library refers to stays until the stream is closed.
  struct LineCall {
    std::uint64_t ticket = 0;
    std::int32_t stream = 0;
    std::shared_ptr<const void> owner;
    isolation::Bytes content;
    std::string prefix;
    std::size_t sent = 0;
    frontend::MessageReader reader;
    std::optional<frontend::Message> message;
    int http_status = 0, grpc_status = -1;  ///< -1: not said
    std::string text;
    std::optional<std::int64_t> wait_ns;
    bool is_told = false;
  };

  [[nodiscard]] bool begin(std::unique_ptr<LineCall> call, std::string_view path,
                           std::string_view timeout, std::string_view trace_parent);
  [[nodiscard]] bool fail(std::string why);
  [[nodiscard]] LineCall* find(std::int32_t stream) noexcept;
  void take_header(LineCall& call, std::string_view name, std::string_view value);
  void take_data(LineCall& call, isolation::Bytes data);
  void end_of_answer(LineCall& call);
  void tell(LineCall& call, std::uint32_t error);
  [[nodiscard]] LineAnswer answer_of(LineCall& call, std::uint32_t error) const;
  void close(std::int32_t stream, std::uint32_t error);
  void send_out(LineCall& call, const std::uint8_t* header, std::size_t bytes);

  const http2::Api& api_;
  const LineParams& params_;
  const ServerAddress& address_;
  LineSink& sink_;
  std::unique_ptr<frontend::Transport> transport_;
  http2::Session* session_ = nullptr;
  std::unordered_map<std::int32_t, std::unique_ptr<LineCall>> calls_;  ///< by stream
  std::unordered_map<std::uint64_t, std::int32_t> streams_;            ///< by ticket
  frontend::OutQueue out_;
  bool is_connected_ = false, is_up_ = false, is_leaving_ = false, is_silent_ = false;
  int quiet_looks_ = 0;  ///< since something was heard
  std::string why_;
};

}  // namespace engine::replicas
