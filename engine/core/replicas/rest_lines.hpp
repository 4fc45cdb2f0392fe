// Connections over which servers are asked by REST.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "replicas/rest_line.hpp"
#include "types.hpp"

namespace engine::replicas {

/// As many to a server as queries are on their way there, each of which is a client's connection:
/// so there are no more than those. Who has answered is asked again, the last one first, unless it
/// had nothing to do for ten seconds: servers end such.
///
/// A query to which a connection that was used before says nothing, and ends, is asked over a new
/// one: the server had ended it, maybe, as the query was on its way. Not so one of a sequence.
///
/// One thread at a time; never blocks.
class RestLines {
 public:
  /// `params` and `sink` must outlive it; `epoll` has its sockets, by numbers that is_one() knows.
  RestLines(const LineParams& params, int epoll, LineSink& sink)
      : params_(params), epoll_(epoll), sink_(sink) {}

  /// Whether epoll's data is of one of them.
  [[nodiscard]] static bool is_one(std::uint64_t who) noexcept { return (who & of_rest) != 0; }
  /// Sends it to a server; its answer comes under the query's ticket. `address` must outlive what
  /// is asked there (drop()).
  void ask(routing::Number server, const ServerAddress& address, RestQuery query,
           std::int64_t now_ns);
  /// Nobody waits for it any more, nor hears of it: its connection ends.
  void forget(std::uint64_t ticket);
  /// What epoll says.
  void take(std::uint64_t who, std::uint32_t events, std::int64_t now_ns);
  /// Ends connections to a server that had nothing to do for too long.
  void sweep(routing::Number server, std::int64_t now_ns);
  /// Ends all to a server; what is asked there has failed for that reason.
  void drop(routing::Number server, const std::string& why);

 private:
  struct Line {
    Line(const LineParams& params, const ServerAddress& address, routing::Number of)
        : rest(params, address), server(of) {}

    RestLine rest;
    const routing::Number server;
    std::uint32_t events = 0;
    std::int64_t idle_since_ns = 0;
  };
  static constexpr std::uint64_t of_rest = std::uint64_t{1} << 62;

  void ask_anew(routing::Number server, const ServerAddress& address, RestQuery query,
                std::int64_t now_ns);
  void begin(std::uint64_t who, RestQuery query, std::int64_t now_ns);
  void go_on(std::uint64_t who, RestLine::State state, std::int64_t now_ns);
  void answer(std::uint64_t who, std::int64_t now_ns);
  void lose(std::uint64_t who, std::int64_t now_ns);
  void end(std::uint64_t who);
  void watch(std::uint64_t who);

  const LineParams& params_;
  const int epoll_;
  LineSink& sink_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Line>> lines_;
  /// By server, those that had nothing to do for the longest time first.
  std::unordered_map<routing::Number, std::vector<std::uint64_t>> idle_;
  std::unordered_map<std::uint64_t, std::uint64_t> line_of_ticket_;
  std::uint64_t last_line_ = 0;
};

}  // namespace engine::replicas
