// The front end, for Python: models are offered to it, and what it does not answer is taken from
// it.
#include "frontend/frontend.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/front.hpp"
#include "bindings/front_rows.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/shared_memory.hpp"
#include "bindings/worker_link.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using frontend::Event;
using frontend::Frontend;
using frontend::FrontModel;
using frontend::Port;
using frontend::RecentQueries;
using frontend::Reply;

struct PyFrontend {
  std::unique_ptr<Frontend> frontend;
};

using PortSpec =
    std::tuple<std::string, std::string, int, std::optional<std::vector<std::int64_t>>>;

std::vector<Port> ports_of(const std::vector<PortSpec>& specs) {
  std::vector<Port> ports;
  for (const auto& [name, datatype, elem_type, extents] : specs)
    ports.push_back({name, datatype, elem_type, extents});
  return ports;
}

nb::list take_events(const PyFrontend& self, std::size_t most) {
  nb::list rows;
  for (const Event& event : self.frontend->events().take(most)) rows.append(row_of(event));
  return rows;
}

void reply(const PyFrontend& self, Reply::Kind kind, std::uint64_t token, std::uint64_t number,
           std::string content, int status = 0) {
  self.frontend->reply({.kind = kind,
                        .token = token,
                        .number = number,
                        .content = std::move(content),
                        .status = static_cast<frontend::Status>(status)});
}

std::string content_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

PyFrontModel offer(const PyFrontend& self, std::string name, std::string version,
                   const std::vector<PortSpec>& inputs, const std::vector<PortSpec>& outputs,
                   const PyRoute* route, std::size_t most_in_flight, const PyQueryLink* worker,
                   const PyFrontTally* tally, const PyAnswerCache* answers, std::uint64_t load) {
  auto model = std::make_shared<FrontModel>();
  model->called = std::make_shared<frontend::ModelName>(
      frontend::ModelName{std::move(name), std::move(version)});
  model->inputs = ports_of(inputs);
  model->outputs = ports_of(outputs);
  model->route = route == nullptr ? nullptr : route->route;
  model->most_in_flight = most_in_flight;
  model->worker = worker == nullptr ? nullptr : worker->link;
  if (tally != nullptr) model->tally = tally->tally;
  model->answers = answers == nullptr ? nullptr : answers->cache;
  model->load = load;
  self.frontend->models().offer(model);
  return {model};
}

frontend::Speaks speaks_of(const std::string& name) {
  if (name == "grpc") return frontend::Speaks::grpc;
  if (name == "rest") return frontend::Speaks::rest;
  if (name == "either") return frontend::Speaks::either;
  throw std::invalid_argument("a socket speaks grpc, rest or either, got " + name);
}

void begin(PyFrontend* self, const std::vector<std::pair<int, std::string>>& listeners,
           const PyRegions& regions, std::size_t most_connections, std::uint32_t most_streams,
           std::size_t most_message_bytes, std::int64_t idle_ns, std::int64_t body_ns,
           const PyTlsContext* tls, std::size_t most_of_a_client, std::int64_t handshake_ns,
           std::optional<std::tuple<int, int, int>> server) {
  frontend::FrontendParams params;
  for (const auto& [socket, speaks] : listeners)
    params.listeners.push_back({socket, speaks_of(speaks)});
  params.regions = regions.table;
  params.most_connections = most_connections;
  params.most_of_a_client = most_of_a_client;
  params.idle_ns = idle_ns;
  params.handshake_ns = handshake_ns;
  params.connection.most_message_bytes = most_message_bytes;
  params.connection.most_streams = most_streams;
  params.connection.body_ns = body_ns;
  if (tls != nullptr) params.tls = tls->context;
  if (server) {
    const auto [socket, requests, answers] = *server;
    params.server = {.socket = socket, .requests = requests, .answers = answers};
  }
  new (self) PyFrontend{std::make_unique<Frontend>(params)};
}

}  // namespace

void bind_frontend(nb::module_& m) {
  bind_access(m);
  bind_answer_cache(m);
  bind_front_parts(m);
  bind_recent_queries(m);
  nb::class_<PyFrontend>(m, "Frontend",
                         "A thread that speaks gRPC and REST, and answers without Python.")
      .def("__init__", &begin, "listeners"_a, "regions"_a, "most_connections"_a, "most_streams"_a,
           "most_message_bytes"_a, "idle_ns"_a, "body_ns"_a, "tls"_a.none() = nb::none(),
           "most_of_a_client"_a = 0, "handshake_ns"_a = frontend::FrontendParams{}.handshake_ns,
           "server"_a.none() = nb::none(),
           R"(Serve sockets that listen, which are the front end's from now on.

Each with what is spoken over its connections: grpc, rest, or either.

Parameters
----------
server
    Ends of a WorkerLink: answer its queries. The socket is the front end's.)")
      .def("offer", &offer, "name"_a, "version"_a, "inputs"_a, "outputs"_a, "route"_a.none(),
           "most_in_flight"_a, "worker"_a.none() = nb::none(), "tally"_a.none() = nb::none(),
           "answers"_a.none() = nb::none(), "load"_a = 0,
           R"(Answer queries of a model; ports are (name, datatype, element type, extents or None).

In the place of the one that is there, and counted in the same tally as that, if it is
given. Without a route Python is asked, unless there is a worker, which is. Answers of
that load are kept in `answers`, if it is given.)")
      .def(
          "withdraw",
          [](const PyFrontend& self, const std::string& name, const std::string& version) {
            self.frontend->models().withdraw(name, version);
          },
          "name"_a, "version"_a, "Python is asked from now on.")
      .def(
          "watch",
          [](const PyFrontend& self, const PyQueryLink& worker) {
            self.frontend->add_worker(worker.link);
          },
          "worker"_a, "Hear of its answers from now on, until it is gone.")
      .def(
          "tell_readiness",
          [](const PyFrontend& self, const std::string& name, const std::string& version,
             bool is_ready, bool is_unloaded, const PyRoute* route) {
            self.frontend->readiness().tell(
                name, version, {is_ready, is_unloaded, route == nullptr ? nullptr : route->route});
          },
          "name"_a, "version"_a, "is_ready"_a, "is_unloaded"_a, "route"_a.none() = nb::none(),
          R"(What health checks are told of a model from now on.

While its route's devices are lost or held, Python is asked instead.)")
      .def(
          "open_readiness", [](const PyFrontend& self) { self.frontend->readiness().open(); },
          "Answer health checks from now on: all models have been told of.")
      .def(
          "renew",
          [](const PyFrontend& self, const PyTlsContext& tls) {
            self.frontend->renew(tls.context);
          },
          "tls"_a, "Show these certificates to who connects from now on.")
      .def(
          "set_access",
          [](const PyFrontend& self, const PyAccess& access) {
            self.frontend->set_access(access.access);
          },
          "access"_a, "Ask it who may do what, from now on.")
      .def(
          "leave", [](const PyFrontend& self) { self.frontend->leave(); },
          "Be ready no more, and answer queries all the same.")
      .def_static(
          "check", [] { return http2::Api::open().path; },
          "Where libnghttp2 is; raises RuntimeError saying why it cannot be opened.")
      .def_static("rest_missing", &http1::RequestParser::missing,
                  "Why REST cannot be spoken here; empty if it can.")
      .def(
          "observe", [](const PyFrontend& self, bool wanted) { self.frontend->observe(wanted); },
          "wanted"_a,
          "Whether to count durations by buckets and remember queries; at first it does.")
      .def_prop_ro(
          "recent",
          [](const PyFrontend& self) -> RecentQueries& { return self.frontend->recent(); },
          nb::rv_policy::reference_internal, "What ended here lately.")
      .def_prop_ro("event_fd", [](const PyFrontend& self) { return self.frontend->events().fd(); })
      .def("take_events", &take_events, "most"_a,
           nb::sig("def take_events(self, most: int) -> list[tuple[int, int, int, str, str, "
                   "bytes | None, bool, int, tuple[str, list[tuple[str, str]]] | None, "
                   "tuple[str, list[str]] | None, str]]"),
           R"(What came for Python since the last call, in its order; the first `most` of it.

Kind (0 call, 1 message, 2 end, 3 item, 4 failed, 5 item failed, 6 gone, 7 request of
REST), token of the call, number of the item, path (or why it failed), encoding (or the
query's id), content, whether that is compressed, by when it is due (0: no limit), of a
request its method and fields, of what begins who asks (header of authorization, names of
the certificate that was shown), of a call or an item its trace parent.)")
      .def(
          "send",
          [](const PyFrontend& self, std::uint64_t token, const nb::bytes& message) {
            reply(self, Reply::message, token, 0, content_of(message));
          },
          "token"_a, "message"_a)
      .def(
          "end",
          [](const PyFrontend& self, std::uint64_t token, int status, std::string why) {
            reply(self, Reply::end, token, 0, std::move(why), status);
          },
          "token"_a, "status"_a = 0, "why"_a = "")
      .def(
          "answer_item",
          [](const PyFrontend& self, std::uint64_t token, std::uint64_t number,
             const nb::bytes& message) {
            reply(self, Reply::item, token, number, content_of(message));
          },
          "token"_a, "number"_a, "message"_a)
      .def(
          "answer",
          [](const PyFrontend& self, std::uint64_t token, int status, std::string fields,
             const nb::bytes& body) {
            self.frontend->reply({.kind = Reply::answer,
                                  .token = token,
                                  .content = content_of(body),
                                  .http_status = status,
                                  .fields = std::move(fields)});
          },
          "token"_a, "status"_a, "fields"_a, "body"_a,
          "Answer a request of REST; fields of the head are lines with their ends.")
      .def(
          "drain", [](const PyFrontend& self) { self.frontend->drain(); },
          "Answer no further query: Python is asked.")
      .def(
          "abandon", [](const PyFrontend& self) { self.frontend->abandon(); },
          "Cancel what is in flight.")
      .def(
          "end_receipts", [](const PyFrontend& self) { self.frontend->end_receipts(); },
          "End calls of whose message some has come, and not all.")
      .def_prop_ro("in_flight", [](const PyFrontend& self) { return self.frontend->in_flight(); })
      .def(
          "stop",
          [](const PyFrontend& self, double grace_s) {
            self.frontend->stop(static_cast<std::int64_t>(grace_s * 1e9));
          },
          "grace_s"_a, nb::call_guard<ReleasedGil>(),
          "Accept no more, write what is answered for up to that long, and end.");
}

}  // namespace engine
