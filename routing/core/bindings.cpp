// surplus.routing._balancer: the balancer for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "balancer.hpp"
#include "failures.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace routing {

namespace {

using SentRow = std::optional<std::pair<std::uint64_t, Number>>;

SentRow row_of(const std::optional<Sent>& sent) {
  return sent ? SentRow({sent->ticket, sent->server}) : std::nullopt;
}

void set_replicas(Balancer& self, Number model,
                  const std::vector<std::pair<Number, double>>& rows) {
  std::vector<Replica> replicas;
  for (const auto& [server, load] : rows) replicas.push_back({server, load});
  self.set_replicas(model, replicas);
}

void bind_parts(nb::module_& m) {
  nb::enum_<Failure>(m, "Failure", "Why a query was not answered.")
      .value("LOST", Failure::lost, "the server could not be reached, or the connection ended")
      .value("UNAVAILABLE", Failure::unavailable, "it says that it answers none, or not this one")
      .value("REFUSED", Failure::refused, "it would have been late, or there is no room for it")
      .value("ABSENT", Failure::absent, "the server has not the model")
      .value("LATE", Failure::late, "nothing was heard until it was due")
      .value("ERROR", Failure::error, "the model failed there")
      .value("FAULT", Failure::fault, "the query's own: another replica would say the same");
  m.def("failure_of", &failure_of, "grpc_status"_a,
        "What a status that is not OK says of a server; not whether a connection was lost.");
  nb::class_<ServerCounts>(m, "ServerCounts", "What became of the queries sent to a server.")
      .def_ro("name", &ServerCounts::name)
      .def_ro("sent", &ServerCounts::sent)
      .def_ro("answered", &ServerCounts::answered)
      .def_ro("failed", &ServerCounts::failed, "Those that another replica was asked then, too.")
      .def_ro("retried", &ServerCounts::retried, "Sent here after another replica had failed.")
      .def_ro("ejections", &ServerCounts::ejections, "How often it was ejected.")
      .def_ro("in_flight", &ServerCounts::in_flight)
      .def_ro("is_ejected", &ServerCounts::is_ejected);
}

}  // namespace

}  // namespace routing

NB_MODULE(_balancer, m) {
  using namespace routing;
  nanobind::set_leak_warnings(false);
  m.doc() = "Which replica answers a query: least expected lateness, ejection, one retry.";
  bind_parts(m);
  nb::class_<Balancer>(m, "Balancer", R"(Sends queries where they are expected to be the least late.

Reads no clock and opens no connection: its caller says what time it is and what happened. One
thread at a time. Models and servers are numbers from 0 on; moments and durations are ns.)")
      .def(
          "__init__",
          [](Balancer* self, std::int64_t most_failures, Ns eject_ns, Ns most_eject_ns, Ns fade_ns,
             Ns refused_ns) {
            new (self) Balancer({.most_failures = most_failures,
                                 .eject_ns = eject_ns,
                                 .most_eject_ns = most_eject_ns,
                                 .fade_ns = fade_ns,
                                 .refused_ns = refused_ns});
          },
          "most_failures"_a = BalancerParams{}.most_failures,
          "eject_ns"_a = BalancerParams{}.eject_ns,
          "most_eject_ns"_a = BalancerParams{}.most_eject_ns,
          "fade_ns"_a = BalancerParams{}.fade_ns, "refused_ns"_a = BalancerParams{}.refused_ns,
          R"(Parameters
----------
most_failures
    In a row after which a server is ejected, >= 1; one that is lost is at once.
eject_ns, most_eject_ns
    How long the first time; twice as long each time in a row, up to the second.
fade_ns
    In which an estimate halves that nothing confirms.
refused_ns
    How long a server is taken to be busy that refuses a query which is never due.

Raises ValueError naming the bound that does not hold.)")
      .def("server", &Balancer::server, "name"_a, "Its number, new or known.")
      .def("model", &Balancer::model, "name"_a, "Its number, new or known.")
      .def("set_replicas", &set_replicas, "model"_a, "replicas"_a,
           R"(Who has a model from now on: servers, and how many queries of others are known there.

What is known of those that stay is kept.)")
      .def(
          "send",
          [](Balancer& self, Number model, Ns now_ns, Ns due_ns, std::uint64_t sequence) {
            return row_of(self.send(model, now_ns, due_ns, sequence));
          },
          "model"_a, "now_ns"_a, "due_ns"_a = 0, "sequence"_a = 0,
          R"(Begin a query, due at that moment (0: never): its ticket, and the server to ask.

None where the model has no replica. Queries of one `sequence` (0: none) go to one replica,
and no other is tried.)")
      .def("answered", &Balancer::answered, "ticket"_a, "now_ns"_a, "wait_ns"_a.none() = nb::none(),
           "It was; `wait_ns` is what the server says a new query would wait there.")
      .def(
          "failed",
          [](Balancer& self, std::uint64_t ticket, Ns now_ns, Failure failure) {
            return row_of(self.failed(ticket, now_ns, failure));
          },
          "ticket"_a, "now_ns"_a, "failure"_a,
          R"(It was not: the ticket of another try, and the server to ask.

None where the caller is to hear of the failure.)")
      .def("abandoned", &Balancer::abandoned, "ticket"_a, "Nobody waits for it any more.")
      .def("lost", &Balancer::lost, "server"_a, "now_ns"_a, "It can be reached no more.")
      .def("restored", &Balancer::restored, "server"_a, "It can be reached again.")
      .def("expected_end_ns", &Balancer::expected_end_ns, "model"_a, "server"_a, "now_ns"_a,
           "When a query that is sent now is expected to be answered; None where nobody knows.")
      .def("counts", &Balancer::counts, "now_ns"_a, "Of every server, by number.");
}
