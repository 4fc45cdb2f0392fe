// Which replica answers a query: the least expected lateness, who is left out, who is tried next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "estimate.hpp"
#include "server_state.hpp"
#include "types.hpp"

namespace routing {

/// Sends queries of models to servers that have them, and learns from how they end.
///
/// A query goes where it is expected to be the least late: by what the server last said of the work
/// before a new query, less the time since then, with what was sent there since; and by how long
/// queries of the model took there. Among those that are in time the first to answer is taken. An
/// estimate that nothing confirms fades (Estimate), so that who was slow once is asked again.
///
/// A server that is lost, or fails several times in a row, is ejected; behind that time one query
/// tries whether it is back. Each time in a row is twice as long. Where all are ejected, the one
/// that is to come back first is asked all the same. A server that says that it has not the model,
/// or on which that fails several times in a row, is asked no more for it for a while.
///
/// A query that fails so that another replica may answer it is begun there once, if it is not due
/// yet. Queries of a sequence go where their number leads and are begun once: their state is there.
///
/// One thread at a time; reads no clock, draws no numbers. O(replicas of the model) a query.
class Balancer {
 public:
  /// Throws std::invalid_argument naming the bound that does not hold.
  explicit Balancer(const BalancerParams& params);

  /// The number of a server of that name, which is new or known.
  [[nodiscard]] Number server(const std::string& name);
  /// The number of a model of that name, which is new or known.
  [[nodiscard]] Number model(const std::string& name);
  /// Who has the model from now on; what is known of those that stay is kept. Throws
  /// std::out_of_range for a number that was not given, std::invalid_argument for a bad load.
  void set_replicas(Number model, const std::vector<Replica>& replicas);

  /// Begins a query that is due at `due_ns` (0: never); nothing where the model has no replica.
  /// `sequence`: a number that leads to the same replica; 0: none.
  [[nodiscard]] std::optional<Sent> send(Number model, Ns now_ns, Ns due_ns,
                                         std::uint64_t sequence = 0);
  /// It was answered. `wait_ns`: what the server says a new query would wait there.
  void answered(std::uint64_t ticket, Ns now_ns, std::optional<Ns> wait_ns = std::nullopt);
  /// It was not. What to try next is begun; nothing: its caller hears of the failure.
  [[nodiscard]] std::optional<Sent> failed(std::uint64_t ticket, Ns now_ns, Failure failure);
  /// Nobody waits for it any more.
  void abandoned(std::uint64_t ticket);

  /// A server can be reached no more, whoever noticed.
  void lost(Number server, Ns now_ns);
  /// It can be reached again.
  void restored(Number server);

  /// When a query that is sent now is expected to be answered; nothing where that is not known.
  [[nodiscard]] std::optional<Ns> expected_end_ns(Number model, Number server, Ns now_ns) const;
  /// By number.
  [[nodiscard]] std::vector<ServerCounts> counts(Ns now_ns) const;

 private:
  struct Place {
    Number server = 0;
    double load = 0.0;
    Estimate estimate;
    Ns absent_until_ns = 0;
    std::int64_t errors = 0;  ///< in a row
    std::uint64_t last = 0;   ///< the ticket that was sent there last
  };
  struct Model {
    std::vector<Place> places;
    [[nodiscard]] Place* find(Number server) noexcept;
  };
  struct Ticket {
    Number model = 0, server = 0;
    Ns sent_ns = 0, due_ns = 0;
    Ns ahead_ns = 0;            ///< expected before it
    std::int64_t others = 0;    ///< of ours, there
    Ns cost_ns = 0;             ///< by which it makes others wait
    std::uint64_t reports = 0;  ///< of the server, when it was sent
    std::uint64_t sequence = 0;
    bool is_retry = false;
  };
  struct Expected;

  [[nodiscard]] Expected expect(const Model& model, const Place& place, Ns now_ns) const;
  [[nodiscard]] bool is_open(const Place& place, Ns now_ns) const noexcept;
  [[nodiscard]] Place* choose(Model& model, Ns now_ns, Ns due_ns, std::optional<Number> but);
  [[nodiscard]] Place* choose_closed(Model& model, std::optional<Number> but);
  [[nodiscard]] Place* choose_for(Model& model, std::uint64_t sequence, Ns now_ns);
  [[nodiscard]] Sent begin(Place& place, Ticket ticket);
  [[nodiscard]] std::optional<Ticket> end(std::uint64_t ticket);
  void note(Place* place, const Ticket& ticket, Ns now_ns, Failure failure);
  [[nodiscard]] ServerState& at(Number server) {
    return servers_.at(static_cast<std::size_t>(server));
  }

  const BalancerParams params_;
  std::vector<ServerState> servers_;
  std::vector<Model> models_;
  std::unordered_map<std::string, Number> server_of_, model_of_;
  std::unordered_map<std::uint64_t, Ticket> tickets_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace routing
