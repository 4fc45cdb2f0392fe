// Servers that answer queries for this one: `engine route` is a server whose models are there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "balancer.hpp"
#include "isolation/query_link.hpp"
#include "replicas/replica_line.hpp"
#include "replicas/rest_lines.hpp"
#include "scheduler/doorbell.hpp"

namespace engine::replicas {

/// A server that has a model.
struct ReplicaPlace {
  std::string grpc;   ///< host:port
  std::string rest;   ///< the same of REST; empty: it is not known
  double load = 0.0;  ///< queries of others that are known there
};

struct ReplicasParams {
  LineParams line;
  routing::BalancerParams balancer;
};

/// One connection to each server, and for queries over REST one to each at a time, if all servers
/// of the model are known to be asked so (RestLines); queries go where the balancer says, and once
/// more where it says so. A server that is lost is connected to again and again, a tenth of a
/// second after the first attempt that failed, half a second at the most; it is asked as soon as it
/// has spoken. One that says nothing where queries wait is lost as well (LineParams::unheard_ms),
/// whatever its connection says, and not asked before it has spoken.
///
/// A query's bytes are sent as they came, and kept until it is answered. Thread-safe: one lock,
/// within which nothing blocks; sinks are told without it.
class Replicas final : public isolation::QueryLink, private LineSink {
 public:
  /// Throws std::runtime_error without the library, std::system_error without descriptors,
  /// std::invalid_argument for a bad bound.
  explicit Replicas(ReplicasParams params);
  ~Replicas() override;

  /// Who has a model from now on. Servers that have no model any more are left. Throws
  /// std::invalid_argument for what is no address, or a bad load; looks hosts up, which may block.
  void set_replicas(const std::string& model, const std::vector<ReplicaPlace>& replicas);
  /// Of every server that was ever named, in that order.
  [[nodiscard]] std::vector<routing::ServerCounts> counts() const;
  /// Addresses of those that can be reached now.
  [[nodiscard]] std::vector<std::string> reached() const;

  [[nodiscard]] Sent submit(const isolation::LinkedQuery& query,
                            std::shared_ptr<isolation::AnswerSink> sink, std::uint64_t number,
                            std::uint64_t& tag) override;
  [[nodiscard]] bool takes_rest() const noexcept override { return true; }
  void cancel(std::uint64_t tag) override;
  [[nodiscard]] bool pump() override;
  [[nodiscard]] int fd() const noexcept override { return epoll_; }
  [[nodiscard]] bool is_gone() const override { return false; }
  [[nodiscard]] std::size_t in_flight() const override;

 private:
  /// A query that is not answered.
  struct Pending {
    std::shared_ptr<isolation::AnswerSink> sink;
    std::uint64_t number = 0;
    isolation::LinkedQuery query;
    std::string trace_parent;
    std::string rest_head;  ///< of a query over REST (RestQuery); empty: it is gRPC's
    bool is_in_sequence = false;
    std::uint64_t ticket = 0;
    routing::Number server = 0;
  };
  struct Server {
    ServerAddress address;
    std::unique_ptr<ServerAddress> rest_address = nullptr;  ///< null: it is not known
    std::unique_ptr<ReplicaLine> line = nullptr;
    std::uint32_t events = 0;
    bool is_wanted = false;
    bool was_up = false;
    bool is_silent = false;       ///< nothing was heard of it, nor has been since
    std::int64_t pause_ns = 0;    ///< behind the last attempt
    std::int64_t connect_ns = 0;  ///< when to connect; 0: not
  };
  struct Told {
    std::shared_ptr<isolation::AnswerSink> sink;
    std::uint64_t number = 0;
    LineAnswer answer;
  };
  struct Ended {
    std::uint64_t ticket = 0;
    LineAnswer answer;
    bool is_lost = false;
  };

  void on_answer(std::uint64_t ticket, LineAnswer answer) override;

  // All with the lock.
  [[nodiscard]] routing::Number enter(ServerAddress address, std::unique_ptr<ServerAddress> rest);
  [[nodiscard]] bool takes_rest(const std::vector<routing::Number>& servers) const;
  void connect(routing::Number server, std::int64_t now_ns);
  void lose(routing::Number server, std::int64_t now_ns);
  void leave(Server& server);
  void put(std::uint64_t tag, Pending& pending, std::int64_t now_ns);
  void put_rest(const Pending& pending, std::int64_t now_ns);
  void flush(routing::Number server, std::int64_t now_ns);
  void settle(std::int64_t now_ns);
  void settle_one(Ended ended, std::int64_t now_ns);
  void watch(routing::Number server);
  void wake(std::int64_t now_ns);
  void look_soon(std::int64_t now_ns);
  void look(std::int64_t now_ns);
  void arm();

  const ReplicasParams params_;
  const http2::Api& api_;
  int epoll_ = -1, timer_ = -1;
  Doorbell bell_;  ///< rung when somebody is to be told whom no pump() has told

  mutable std::mutex mutex_;  // of all that follows
  routing::Balancer balancer_;
  std::vector<std::unique_ptr<Server>> servers_;  ///< by the balancer's numbers
  std::unordered_map<std::string, std::vector<routing::Number>> models_;
  std::unordered_map<std::uint64_t, Pending> pending_;  ///< by tag
  std::unordered_map<std::uint64_t, std::uint64_t> tag_of_ticket_;
  std::vector<Ended> ended_;  ///< that lines have told of
  std::vector<Told> told_;
  std::uint64_t last_tag_ = 0;
  std::int64_t look_ns_ = 0;  ///< when to see who lives; 0: nobody has to be looked at
  RestLines rest_;
};

}  // namespace engine::replicas
