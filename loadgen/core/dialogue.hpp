// What is spoken over a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "output.hpp"

namespace loadgen {

/// A query on its way.
struct Query {
  std::uint32_t row;      ///< its number
  std::uint32_t request;  ///< which of the prepared requests it sends
};

/// Who hears how queries ended.
class Sink {
 public:
  virtual ~Sink() = default;
  /// `kind` is empty for success, else what errors are counted by, as "RESOURCE_EXHAUSTED".
  virtual void answered(std::uint32_t row, std::string_view kind, std::string_view message) = 0;
};

/// One connection's worth of a protocol, without the socket. Called by one thread; never blocks.
/// What it hears of answers it tells its sink, each row once.
class Dialogue {
 public:
  virtual ~Dialogue() = default;

  /// Whether both sides have said what they must before the first query.
  [[nodiscard]] virtual bool is_ready() const noexcept = 0;
  /// Whether a further query may be sent now, once it is ready.
  [[nodiscard]] virtual bool takes() const noexcept = 0;
  /// Only if it takes one.
  virtual void send(const Query& query) = 0;
  /// Nobody waits for its answer any more, nor hears of it.
  virtual void forget(std::uint32_t row) = 0;
  /// What came. Throws std::runtime_error if the peer does not keep to the protocol.
  virtual void receive(const std::uint8_t* data, std::size_t bytes) = 0;
  /// Puts what is to be sent behind what is there.
  virtual void write(Output& output) = 0;
  /// Nothing is in flight, and it takes nothing any more: connect anew.
  [[nodiscard]] virtual bool is_over() const noexcept = 0;
  /// Rows whose answers are waited for.
  [[nodiscard]] virtual std::vector<std::uint32_t> in_flight() const = 0;
};

}  // namespace loadgen
