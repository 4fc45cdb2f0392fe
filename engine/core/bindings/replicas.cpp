// Servers that answer queries for this one, for Python.
#include "replicas/replicas.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/released_gil.hpp"
#include "bindings/worker_link.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using replicas::Replicas;
using CountsRow = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t,
                             std::uint64_t, std::uint64_t, std::int64_t, bool>;

Replicas& of(const PyReplicas& self) { return static_cast<Replicas&>(*self.link); }

std::vector<CountsRow> counts(const PyReplicas& self) {
  std::vector<CountsRow> rows;
  for (const routing::ServerCounts& one : of(self).counts())
    rows.emplace_back(one.name, one.sent, one.answered, one.failed, one.retried, one.ejections,
                      one.in_flight, one.is_ejected);
  return rows;
}

}  // namespace

void bind_replicas(nb::module_& m) {
  nb::class_<PyReplicas, PyQueryLink>(m, "Replicas",
                                      "Servers that answer queries, balanced; thread-safe.")
      .def(
          "__init__",
          [](PyReplicas* self, std::size_t most_message_bytes, std::string authorization,
             std::int64_t most_failures, std::int64_t eject_ns, std::int64_t most_eject_ns,
             std::int64_t unheard_ms, std::string tls_ca, std::string tls_certificate,
             std::string tls_key) {
            if (unheard_ms < replicas::ReplicaLine::looks)
              throw std::invalid_argument("unheard_ms must be >= " +
                                          std::to_string(replicas::ReplicaLine::looks));
            replicas::ReplicasParams params;
            params.line.most_message_bytes = most_message_bytes;
            params.line.authorization = std::move(authorization);
            params.line.unheard_ms = unheard_ms;
            if (!tls_ca.empty())
              params.line.tls = std::make_shared<const tls::ClientContext>(tls::ClientFiles{
                  std::move(tls_ca), std::move(tls_certificate), std::move(tls_key)});
            params.balancer.most_failures = most_failures;
            params.balancer.eject_ns = eject_ns;
            params.balancer.most_eject_ns = most_eject_ns;
            new (self) PyReplicas{{std::make_shared<Replicas>(params), answers_for_python()}};
          },
          "most_message_bytes"_a, "authorization"_a = "",
          "most_failures"_a = routing::BalancerParams{}.most_failures,
          "eject_ns"_a = routing::BalancerParams{}.eject_ns,
          "most_eject_ns"_a = routing::BalancerParams{}.most_eject_ns,
          "unheard_ms"_a = replicas::LineParams{}.unheard_ms, "tls_ca"_a = "",
          "tls_certificate"_a = "", "tls_key"_a = "",
          R"(Parameters
----------
most_message_bytes
    Of an answer.
authorization
    Header that servers are shown; empty: none.
most_failures, eject_ns, most_eject_ns
    As of surplus.routing's Balancer.
unheard_ms
    A server that says nothing for so long, where queries wait, is lost.
tls_ca, tls_certificate, tls_key
    PEM files: authorities of servers that are asked over TLS, and what is shown to them.

Raises RuntimeError naming a file that does not do.)")
      .def(
          "set_replicas",
          [](const PyReplicas& self, const std::string& model,
             const std::vector<std::tuple<std::string, std::string, double>>& rows) {
            std::vector<replicas::ReplicaPlace> places;
            for (const auto& [grpc, rest, load] : rows) places.push_back({grpc, rest, load});
            of(self).set_replicas(model, places);
          },
          "model"_a, "replicas"_a, nb::call_guard<ReleasedGil>(),
          R"(Who has a model from now on: host:port of gRPC, of REST or an empty text, and queries of

others known there. Where all are known by REST, its queries are passed on as bytes.

Raises ValueError naming what is no address; looks hosts up, which may block.)")
      .def("counts", &counts,
           R"(Of every server: address, queries sent, answered, failed, sent there as another try,

how often it was ejected, queries in flight, whether it is ejected now.)")
      .def(
          "reached", [](const PyReplicas& self) { return of(self).reached(); },
          "Addresses of those that can be reached now.");
}

}  // namespace engine
