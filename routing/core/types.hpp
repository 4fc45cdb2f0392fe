// What the balancer speaks of: servers and models by number, how queries end, what is counted.
#pragma once

#include <cstdint>
#include <string>

namespace routing {

using Ns = std::int64_t;
using Number = std::int32_t;

struct BalancerParams {
  std::int64_t most_failures = 3;     ///< in a row, and a server is ejected; >= 1
  Ns eject_ns = 1'000'000'000;        ///< for so long the first time; > 0
  Ns most_eject_ns = 30'000'000'000;  ///< and never longer; >= eject_ns
  Ns fade_ns = 2'000'000'000;         ///< in which an estimate halves that nothing confirms; > 0
  Ns refused_ns =
      50'000'000;  ///< that a server is taken to be busy which refuses without saying; > 0
};

/// A server that has a model.
struct Replica {
  Number server = 0;
  double load = 0.0;  ///< queries of others there, as far as is known; >= 0
};

/// A query that is on its way.
struct Sent {
  std::uint64_t ticket = 0;
  Number server = 0;
};

/// Why a query was not answered.
enum class Failure : std::uint8_t {
  lost,         ///< the server could not be reached, or the connection ended
  unavailable,  ///< it says that it answers none, or not this one, now
  refused,      ///< it would have been late, or there is no room for it
  absent,       ///< the server has not the model
  late,         ///< nothing was heard until it was due
  error,        ///< the model failed there
  fault,        ///< the query's own: another replica would say the same
};

/// Whether another replica may answer what failed so.
[[nodiscard]] constexpr bool is_retried(Failure failure) noexcept {
  return failure < Failure::late;
}

/// What became of the queries that were sent to a server.
struct ServerCounts {
  std::string name;
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;     ///< those that another replica was asked then among them
  std::uint64_t retried = 0;    ///< that were sent here after another replica had failed
  std::uint64_t ejections = 0;  ///< how often it was ejected
  std::int64_t in_flight = 0;
  bool is_ejected = false;
};

}  // namespace routing
