// A client's connection, whatever it speaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "frontend/call.hpp"
#include "frontend/proto.hpp"

namespace engine::frontend {

class Connection;

/// What is spoken over connections; `either`: their first bytes tell.
enum class Speaks : std::uint8_t { grpc, rest, either };

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
  Connection(int socket, std::uint64_t number) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// Closes the socket.
  virtual ~Connection();

  /// Takes what the socket has; false: the connection is over. `buffer` is anybody's.
  [[nodiscard]] bool read(std::span<std::byte> buffer);
  /// As if that had come from the socket.
  [[nodiscard]] bool hear(Bytes data);
  /// What came; false: the connection is over.
  [[nodiscard]] virtual bool take(Bytes data) = 0;
  /// Sends what is to be sent; false: the connection is over.
  [[nodiscard]] virtual bool flush() = 0;
  /// Whether the socket takes nothing more for now.
  [[nodiscard]] virtual bool is_blocked() const noexcept = 0;
  /// Whether more is taken now; else the socket keeps what comes.
  [[nodiscard]] virtual bool wants_more() const noexcept { return true; }

  /// Something was added to what the call sends, or it has ended.
  virtual void go_on(Call& call) = 0;
  /// Lets the client send as much again as `call` has taken.
  virtual void consume(Call& call) = 0;
  /// Ends calls of whose message some has come, and not all; whether there were any.
  virtual bool end_receipts() = 0;
  /// Ends queries that take too long to come; false where the connection is to end.
  [[nodiscard]] virtual bool end_slow(std::int64_t now_ns) = 0;
  /// No further calls; those that are there go on.
  virtual void say_goodbye() = 0;
  /// Calls that have not ended.
  [[nodiscard]] virtual std::size_t call_count() const noexcept = 0;
  /// Whether somebody waits for an answer: not to be closed for others.
  [[nodiscard]] virtual bool is_answering() const noexcept { return call_count() > 0; }

  [[nodiscard]] int socket() const noexcept { return socket_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Since when nothing came; on the coarse clock.
  [[nodiscard]] std::int64_t quiet_since_ns() const noexcept { return quiet_since_ns_; }
  /// Whether anything ever came.
  [[nodiscard]] bool has_spoken() const noexcept { return has_spoken_; }
  bool is_dirty = false;        ///< listed to be flushed
  std::uint32_t events = 0;     ///< of its socket that the front end waits for
  Speaks group = Speaks::grpc;  ///< of listeners that it came through
  std::uint64_t last_used = 0;  ///< higher: opened, or asked, later

 protected:
  /// Sends nothing more; the client may still.
  void stop_sending() noexcept;
  /// It is closed by who takes it.
  [[nodiscard]] int release_socket() noexcept;

 private:
  int socket_;
  const std::uint64_t number_;
  std::int64_t quiet_since_ns_;
  bool has_spoken_ = false;
};

}  // namespace engine::frontend
