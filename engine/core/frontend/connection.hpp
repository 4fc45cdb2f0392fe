// A client's connection, whatever it speaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "frontend/call.hpp"
#include "frontend/proto.hpp"
#include "frontend/transport.hpp"

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
  Connection(std::unique_ptr<Transport> transport, std::uint64_t number) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  /// Takes what the socket has; false: the connection is over. `buffer` is anybody's.
  [[nodiscard]] bool read(std::span<std::byte> buffer);
  /// As if that had come from the socket.
  [[nodiscard]] bool hear(Bytes data);
  /// What came; false: the connection is over.
  [[nodiscard]] virtual bool take(Bytes data) = 0;
  /// Sends what is to be sent; false: the connection is over.
  [[nodiscard]] virtual bool flush() = 0;
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
  /// Whether a query waits for its answer: not to be closed for others.
  [[nodiscard]] virtual bool has_query() const noexcept { return call_count() > 0; }

  /// Whether it stays open although nothing comes.
  [[nodiscard]] virtual bool may_be_silent() const noexcept { return false; }

  /// Whether the socket takes nothing more for now.
  [[nodiscard]] bool is_blocked() const noexcept { return transport_->is_blocked(); }
  /// Whether both sides have agreed how to speak.
  [[nodiscard]] bool is_agreed() const noexcept { return transport_->is_agreed(); }
  /// Names in the certificate that the client has shown; null: it has shown none.
  [[nodiscard]] const std::vector<std::string>* certificate_names() {
    return transport_->certificate_names();
  }
  [[nodiscard]] int socket() const noexcept { return transport_->socket(); }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// When it was opened; on the coarse clock, as the next.
  [[nodiscard]] std::int64_t opened_ns() const noexcept { return opened_ns_; }
  /// Since when nothing came.
  [[nodiscard]] std::int64_t quiet_since_ns() const noexcept { return quiet_since_ns_; }
  /// Whether anything ever came, behind what TLS says for itself.
  [[nodiscard]] bool has_spoken() const noexcept { return has_spoken_; }
  bool is_dirty = false;        ///< listed to be flushed
  std::uint32_t events = 0;     ///< of its socket that the front end waits for
  std::string client;           ///< its address (client_of)
  int watched_by = -1;          ///< the front end's epoll that its socket is in
  Speaks group = Speaks::grpc;  ///< of listeners that it came through
  std::uint64_t last_used = 0;  ///< higher: opened, or asked, later

 protected:
  [[nodiscard]] Transport& transport() noexcept { return *transport_; }
  /// For who goes on with it; nothing but the destructor may be called then.
  [[nodiscard]] std::unique_ptr<Transport> release_transport() noexcept {
    return std::move(transport_);
  }
  /// Sends nothing more; the client may still.
  void stop_sending() noexcept;

 private:
  std::unique_ptr<Transport> transport_;
  const std::uint64_t number_;
  const std::int64_t opened_ns_;
  std::int64_t quiet_since_ns_;
  bool has_spoken_ = false;
};

}  // namespace engine::frontend
