#include "balancer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace routing {

namespace {

void require(bool holds, const char* bound) {
  if (!holds) throw std::invalid_argument(bound);
}

/// Of a sequence and a server: an even spread of all pairs (splitmix64).
std::uint64_t mixed(std::uint64_t sequence, Number server) noexcept {
  std::uint64_t x = sequence + 0x9E3779B97F4A7C15U * (static_cast<std::uint64_t>(server) + 1);
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  return x ^ x >> 31;
}

Number number_of(const std::string& name, std::unordered_map<std::string, Number>& numbers) {
  return numbers.emplace(name, static_cast<Number>(numbers.size())).first->second;
}

}  // namespace

/// Of a query that is sent to a place now.
struct Balancer::Expected {
  Ns end_ns = 0;
  Ns ahead_ns = 0;
  Ns cost_ns = 0;
  double others = 0.0;

  /// The less the better: how late, when, behind how many.
  [[nodiscard]] auto rank(Ns due_ns, std::uint64_t last) const noexcept {
    const Ns late_ns = due_ns == 0 ? 0 : std::max<Ns>(0, end_ns - due_ns);
    return std::tuple(late_ns, end_ns, others, last);
  }
};

Balancer::Place* Balancer::Model::find(Number server) noexcept {
  const auto found = std::ranges::find(places, server, &Place::server);
  return found == places.end() ? nullptr : &*found;
}

Balancer::Balancer(const BalancerParams& params) : params_(params) {
  require(params.most_failures >= 1, "most_failures must be >= 1");
  require(params.eject_ns > 0, "eject_ns must be > 0");
  require(params.most_eject_ns >= params.eject_ns, "most_eject_ns must be >= eject_ns");
  require(params.fade_ns > 0, "fade_ns must be > 0");
  require(params.refused_ns > 0, "refused_ns must be > 0");
}

Number Balancer::server(const std::string& name) {
  const Number number = number_of(name, server_of_);
  if (static_cast<std::size_t>(number) == servers_.size())
    servers_.emplace_back().counts.name = name;
  return number;
}

Number Balancer::model(const std::string& name) {
  const Number number = number_of(name, model_of_);
  if (static_cast<std::size_t>(number) == models_.size()) models_.emplace_back();
  return number;
}

void Balancer::set_replicas(Number model, const std::vector<Replica>& replicas) {
  Model& own = models_.at(static_cast<std::size_t>(model));
  std::vector<Place> places;
  for (const Replica& replica : replicas) {
    static_cast<void>(at(replica.server));
    require(std::isfinite(replica.load) && replica.load >= 0.0, "a replica's load must be >= 0");
    const Place* const known = own.find(replica.server);
    places.push_back(known != nullptr ? *known : Place{.server = replica.server, .estimate = {}});
    places.back().load = replica.load;
  }
  own.places = std::move(places);
}

/// Of a server that was not asked yet, as of the others on the mean.
Balancer::Expected Balancer::expect(const Model& model, const Place& place, Ns now_ns) const {
  const ServerState& server = servers_[static_cast<std::size_t>(place.server)];
  Expected expected{.ahead_ns = server.ahead_ns(now_ns),
                    .others = static_cast<double>(server.counts.in_flight) + place.load};
  Ns own_ns = 0;
  if (server.last_eject_ns != 0) {
    // It may be back: one query tries that, whatever it took before (is_open).
  } else if (place.estimate.is_known()) {
    own_ns = place.estimate.own_ns(now_ns, params_.fade_ns);
    expected.cost_ns = place.estimate.cost_ns();
  } else {
    std::int64_t known = 0;
    for (const Place& other : model.places) {
      if (!other.estimate.is_known()) continue;
      ++known;
      own_ns += other.estimate.own_ns(now_ns, params_.fade_ns);
      expected.cost_ns += other.estimate.cost_ns();
    }
    if (known > 0) {
      own_ns /= known;
      expected.cost_ns /= known;
    }
  }
  // What others have there counts until the server has said it itself.
  if (server.reports == 0)
    expected.ahead_ns += static_cast<Ns>(place.load * static_cast<double>(expected.cost_ns));
  expected.end_ns = now_ns + expected.ahead_ns + own_ns;
  return expected;
}

/// Whether queries go there: it is not ejected, nor tried out by another one.
bool Balancer::is_open(const Place& place, Ns now_ns) const noexcept {
  const ServerState& server = servers_[static_cast<std::size_t>(place.server)];
  return place.absent_until_ns <= now_ns && server.is_open(now_ns);
}

Balancer::Place* Balancer::choose(Model& model, Ns now_ns, Ns due_ns, std::optional<Number> but) {
  Place* best = nullptr;
  Expected expected;
  for (Place& place : model.places) {
    if (place.server == but || !is_open(place, now_ns)) continue;
    const Expected own = expect(model, place, now_ns);
    if (best != nullptr && own.rank(due_ns, place.last) >= expected.rank(due_ns, best->last))
      continue;
    best = &place;
    expected = own;
  }
  return best != nullptr ? best : choose_closed(model, but);
}

/// Where nobody is open: who is to come back first.
Balancer::Place* Balancer::choose_closed(Model& model, std::optional<Number> but) {
  Place* best = nullptr;
  const auto rank = [&](const Place& place) {
    const ServerState& server = servers_[static_cast<std::size_t>(place.server)];
    return std::tuple(std::max(place.absent_until_ns, server.ejected_until_ns),
                      server.counts.in_flight, place.last);
  };
  for (Place& place : model.places)
    if (place.server != but && (best == nullptr || rank(place) < rank(*best))) best = &place;
  return best;
}

/// By highest random weight: few sequences move when a replica comes or goes.
Balancer::Place* Balancer::choose_for(Model& model, std::uint64_t sequence, Ns now_ns) {
  Place* best = nullptr;
  for (Place& place : model.places) {
    if (!is_open(place, now_ns)) continue;
    if (best == nullptr || mixed(sequence, place.server) > mixed(sequence, best->server))
      best = &place;
  }
  return best != nullptr ? best : choose_closed(model, std::nullopt);
}

std::optional<Sent> Balancer::send(Number model, Ns now_ns, Ns due_ns, std::uint64_t sequence) {
  Model& own = models_.at(static_cast<std::size_t>(model));
  Place* const place =
      sequence != 0 ? choose_for(own, sequence, now_ns) : choose(own, now_ns, due_ns, std::nullopt);
  if (place == nullptr) return std::nullopt;
  return begin(*place, {.model = model, .sent_ns = now_ns, .due_ns = due_ns, .sequence = sequence});
}

Sent Balancer::begin(Place& place, Ticket ticket) {
  ServerState& server = at(place.server);
  const Model& model = models_[static_cast<std::size_t>(ticket.model)];
  const Expected expected = expect(model, place, ticket.sent_ns);
  ticket.server = place.server;
  ticket.ahead_ns = expected.ahead_ns;
  ticket.others = server.counts.in_flight;
  ticket.cost_ns = expected.cost_ns;
  ticket.reports = server.reports;
  server.unreported_ns += ticket.cost_ns;
  ++server.counts.in_flight;
  ++server.counts.sent;
  if (ticket.is_retry) ++server.counts.retried;
  place.last = ++last_ticket_;
  if (server.last_eject_ns != 0 && server.trial == 0) server.trial = last_ticket_;
  tickets_.emplace(last_ticket_, ticket);
  return {last_ticket_, place.server};
}

/// Takes the ticket out of the books; nothing if it is none, or was ended before.
std::optional<Balancer::Ticket> Balancer::end(std::uint64_t ticket) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return std::nullopt;
  const Ticket ended = found->second;
  tickets_.erase(found);
  ServerState& server = at(ended.server);
  --server.counts.in_flight;
  server.finish(ended.cost_ns, ended.reports);
  if (server.trial == ticket) server.trial = 0;
  return ended;
}

void Balancer::answered(std::uint64_t ticket, Ns now_ns, std::optional<Ns> wait_ns) {
  const std::optional<Ticket> ended = end(ticket);
  if (!ended) return;
  ServerState& server = at(ended->server);
  ++server.counts.answered;
  server.restore();
  if (wait_ns && *wait_ns >= 0) server.report(*wait_ns, now_ns);
  Place* const place = models_[static_cast<std::size_t>(ended->model)].find(ended->server);
  if (place == nullptr) return;
  place->errors = 0;
  place->estimate.learn(now_ns - ended->sent_ns, ended->ahead_ns, ended->others, now_ns,
                        params_.fade_ns);
}

std::optional<Sent> Balancer::failed(std::uint64_t ticket, Ns now_ns, Failure failure) {
  std::optional<Ticket> ended = end(ticket);
  if (!ended) return std::nullopt;
  ++at(ended->server).counts.failed;
  Model& model = models_[static_cast<std::size_t>(ended->model)];
  note(model.find(ended->server), *ended, now_ns, failure);
  const bool is_over = ended->due_ns != 0 && ended->due_ns <= now_ns;
  if (!is_retried(failure) || ended->is_retry || ended->sequence != 0 || is_over)
    return std::nullopt;
  Place* const other = choose(model, now_ns, ended->due_ns, ended->server);
  if (other == nullptr) return std::nullopt;
  ended->is_retry = true;
  ended->sent_ns = now_ns;
  return begin(*other, *ended);
}

void Balancer::abandoned(std::uint64_t ticket) { static_cast<void>(end(ticket)); }

void Balancer::note(Place* place, const Ticket& ticket, Ns now_ns, Failure failure) {
  ServerState& server = at(ticket.server);
  bool is_absent = false;
  switch (failure) {
    case Failure::lost:
      return lost(ticket.server, now_ns);
    case Failure::unavailable:
    case Failure::late:
      return server.fail(now_ns, params_);
    case Failure::refused: {
      // It does not say how long it is busy; longer than the query could have waited.
      const Ns wait_ns = ticket.due_ns == 0 ? params_.refused_ns : ticket.due_ns - now_ns;
      server.restore();
      return server.report(std::max(server.ahead_ns(now_ns), wait_ns), now_ns);
    }
    case Failure::absent:
      is_absent = true;
      break;
    case Failure::error:
      is_absent = place != nullptr && ++place->errors >= params_.most_failures;
      break;
    case Failure::fault:
      break;
  }
  server.restore();
  if (place != nullptr && is_absent) place->absent_until_ns = now_ns + params_.eject_ns;
}

void Balancer::lost(Number server, Ns now_ns) {
  at(server).lose(now_ns, params_);
  for (Model& model : models_)
    if (Place* const place = model.find(server)) place->estimate = {};  // who comes back is new
}

void Balancer::restored(Number server) { at(server).restore(); }

std::optional<Ns> Balancer::expected_end_ns(Number model, Number server, Ns now_ns) const {
  const Model& own = models_.at(static_cast<std::size_t>(model));
  for (const Place& place : own.places)
    if (place.server == server && place.estimate.is_known())
      return expect(own, place, now_ns).end_ns;
  return std::nullopt;
}

std::vector<ServerCounts> Balancer::counts(Ns now_ns) const {
  std::vector<ServerCounts> found;
  for (const ServerState& server : servers_) {
    found.push_back(server.counts);
    found.back().is_ejected = server.ejected_until_ns > now_ns;
  }
  return found;
}

}  // namespace routing
