// A connection to the server that comes back when it was lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "address.hpp"
#include "clock.hpp"
#include "descriptor.hpp"
#include "dialogue.hpp"
#include "poller.hpp"

namespace loadgen {

/// Called by one thread; never blocks. What was in flight when the connection was lost has failed
/// as "UNAVAILABLE"; queries that come while there is none wait for the next attempt, and fail with
/// it. Attempts that follow one that led to nothing are 100 ms apart.
class Connection final : private Sink {
 public:
  /// A dialogue for each new socket.
  using Speaking = std::function<std::unique_ptr<Dialogue>(Sink&)>;

  /// All must outlive it. Begins to connect; counts itself in `up` while it is.
  Connection(Poller& poller, const Address& address, Speaking speaking, Sink& sink,
             std::size_t& up);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends the query, now or when its turn has come. Call flush() after the last of several.
  void start(const Query& query);
  /// Nobody waits for its answer any more, nor hears of it.
  void forget(std::uint32_t row);
  /// What epoll says of it.
  void handle(std::uint32_t events);
  /// Writes what the socket takes.
  void flush();

  /// When tick() is to be called; never_ns: not at all.
  [[nodiscard]] std::int64_t retry_ns() const noexcept { return retry_ns_; }
  /// Connects, if it is time to.
  void tick(std::int64_t time_ns);
  /// Why there was none the last time that it was lost; empty before.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  enum class State { down, connecting, greeting, up };

  void answered(std::uint32_t row, std::string_view kind, std::string_view message) override;
  void connect();
  void opened();
  void greeted();
  void receive();
  /// Sends what waits, as far as the dialogue takes it.
  void advance();
  void lose(const std::string& reason);
  void watch(std::uint32_t events);

  Poller& poller_;
  const Address& address_;
  const Speaking speaking_;
  Sink& sink_;
  std::size_t& up_;
  State state_ = State::down;
  Descriptor socket_;
  std::uint32_t watched_ = 0;
  std::unique_ptr<Dialogue> dialogue_;
  Output output_;
  std::deque<Query> waiting_;
  bool was_of_use_ = false;  ///< whether a query over this socket had its answer, or its time
  std::int64_t retry_ns_ = never_ns;
  std::string reason_;
};

}  // namespace loadgen
