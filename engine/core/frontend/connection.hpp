// A client's connection: HTTP/2 by the library, calls by their streams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "frontend/call.hpp"
#include "frontend/out_queue.hpp"
#include "http2/api.hpp"

namespace engine::frontend {

class Connection;

/// What a connection tells the front end.
class CallHandler {
 public:
  virtual ~CallHandler() = default;
  [[nodiscard]] virtual std::uint64_t next_token() = 0;
  /// A call's headers are there.
  virtual void on_call(Connection& connection, Call& call) = 0;
  /// A message of it is complete.
  virtual void on_message(Connection& connection, Call& call, Message message) = 0;
  /// Nothing more comes of it.
  virtual void on_complete(Connection& connection, Call& call) = 0;
  /// It is gone, answered or not.
  virtual void on_gone(Call& call) = 0;
};

struct ConnectionParams {
  std::size_t most_message_bytes = 64U << 20;
  std::uint32_t most_streams = 4096;
  std::int64_t body_ns = 0;  ///< for a query's headers and message to come; 0: no limit
};

/// One thread at a time: the front end's.
class Connection {
 public:
  /// Takes the socket. Throws std::runtime_error if the library refuses.
  Connection(const http2::Api& api, int socket, std::uint64_t number,
             const ConnectionParams& params, CallHandler& handler);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Takes what the socket has; false: the connection is over. `buffer` is anybody's.
  [[nodiscard]] bool read(std::span<std::byte> buffer);
  /// Sends what is to be sent; false: the connection is over.
  [[nodiscard]] bool flush();
  /// Whether the socket takes nothing more for now.
  [[nodiscard]] bool is_blocked() const noexcept { return !out_.empty(); }

  /// Something was added to what the call sends, or it has ended.
  void go_on(Call& call);
  /// Lets the client send as much again as `call` has taken.
  void consume(Call& call);
  /// Ends calls of whose message some has come, and not all; whether there were any.
  bool end_receipts();
  /// Ends queries that take too long to come; false where the connection is to end.
  [[nodiscard]] bool end_slow(std::int64_t now_ns);
  /// No further calls; those that are there go on.
  void say_goodbye();
  /// A call by its stream; null if it is gone.
  [[nodiscard]] Call* find(std::int32_t stream) noexcept;

  [[nodiscard]] int socket() const noexcept { return socket_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::size_t call_count() const noexcept { return calls_.size(); }
  /// Since when nothing came; on the coarse clock.
  [[nodiscard]] std::int64_t quiet_since_ns() const noexcept { return quiet_since_ns_; }
  /// Whether anything ever came.
  [[nodiscard]] bool has_spoken() const noexcept { return has_spoken_; }
  bool is_dirty = false;     ///< listed to be flushed
  bool wants_write = false;  ///< the front end waits until its socket takes more

 private:
  friend struct SessionCallbacks;

  void begin_call(std::int32_t stream);
  void take_header(Call& call, std::string_view name, std::string_view value);
  void headers_end(Call& call);
  void take_data(Call& call, Bytes data);
  void half_close(Call& call);
  void close_call(std::int32_t stream);
  void reject(Call& call, int http_status);
  ssize_t provide(Call& call, std::size_t most, std::uint32_t& flags);
  void send_out(Call& call, std::size_t bytes);
  void submit_trailer(Call& call);
  void cut_off(const Call& call);
  void end_for_memory(Call& call);

  const http2::Api& api_;
  const int socket_;
  const std::uint64_t number_;
  const ConnectionParams params_;
  CallHandler& handler_;
  http2::Session* session_ = nullptr;
  std::unordered_map<std::int32_t, std::unique_ptr<Call>> calls_;
  OutQueue out_;
  std::int64_t quiet_since_ns_;
  bool has_spoken_ = false;
};

}  // namespace engine::frontend
