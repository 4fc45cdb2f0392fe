// surplus.loadgen._native: the client for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "http2/api.hpp"
#include "load.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace loadgen {

namespace {

template <typename Number>
using Column = nb::ndarray<nb::numpy, Number, nb::ndim<1>>;
using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Number>
Column<Number> column(const std::deque<Number>& values) {
  auto data = std::make_unique<std::vector<Number>>(values.begin(), values.end());
  const std::size_t count = data->size();
  Number* const begin = data->data();
  const nb::capsule owner(data.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  return {begin, {count}, owner};
}

using Asking = std::tuple<nb::bytes, std::int64_t, Request::Headers>;

std::vector<Request> requests_of(const std::vector<Asking>& given) {
  std::vector<Request> requests;
  for (const auto& [bytes, timeout_ns, headers] : given) {
    if (timeout_ns <= 0) throw nb::value_error("timeout_ns must be > 0");
    requests.push_back({std::string(bytes.c_str(), bytes.size()), timeout_ns, headers});
  }
  if (requests.empty()) throw nb::value_error("there must be a request");
  return requests;
}

void make(Load* self, std::string host, std::uint16_t port, bool is_grpc,
          const std::vector<Asking>& requests, std::vector<std::uint32_t> turns,
          std::size_t connections, std::int64_t connect_ns, std::int64_t patience_ns,
          bool is_compared, bool is_kept) {
  if (connections < 1) throw nb::value_error("connections must be >= 1");
  LoadParams params{std::move(host), port, is_grpc, connections, connect_ns, patience_ns, {}, {}};
  params.prepared.requests = requests_of(requests);
  params.prepared.is_compared = is_compared;
  params.prepared.is_kept = is_kept;
  for (const std::uint32_t turn : turns)
    if (turn >= requests.size()) throw nb::value_error("a turn is of no request");
  params.turns = std::move(turns);
  const nb::gil_scoped_release released;
  new (self) Load(std::move(params));
}

void bind_results(nb::class_<Load>& load) {
  const auto owned = nb::rv_policy::automatic;  // arrays are copies, not parts of the load
  load.def_prop_ro(
          "intended_ns", [](const Load& l) { return column(l.rows().intended_ns); }, owned)
      .def_prop_ro(
          "sent_ns", [](const Load& l) { return column(l.rows().sent_ns); }, owned)
      .def_prop_ro(
          "done_ns", [](const Load& l) { return column(l.rows().done_ns); }, owned)
      .def_prop_ro(
          "kind", [](const Load& l) { return column(l.rows().kind); }, owned,
          "0 for success, else 1 + the place of its kind, -1 for what was not finished.")
      .def_prop_ro("kinds", [](const Load& l) { return l.rows().kinds; })
      .def_prop_ro(
          "messages", [](const Load& l) { return l.rows().messages; },
          "What was said of the first query of each kind.")
      .def_prop_ro("wall_ns", [](const Load& l) { return l.effort().wall_ns; })
      .def_prop_ro("slept_ns", [](const Load& l) { return l.effort().slept_ns; })
      .def_prop_ro("cpu_ns", [](const Load& l) { return l.effort().cpu_ns; })
      .def_prop_ro("gave_up", &Load::gave_up, "Whether there was no server any more.")
      .def_prop_ro("loss", &Load::loss, "Why there was none; empty where there was.");
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The load generator's native client.";
  m.def(
      "open_http2",
      [] {
        const nb::gil_scoped_release released;
        return std::string(engine::http2::Api::open().version(0)->text);
      },
      "Opens libnghttp2, which gRPC needs; returns its version. RuntimeError if there is none.");

  auto load = nb::class_<Load>(m, "Load", "One run against one server, in one thread.");
  load.def("__init__", &make, "host"_a, "port"_a, "is_grpc"_a, "requests"_a, "turns"_a,
           "connections"_a, "connect_ns"_a, "patience_ns"_a, "is_compared"_a, "is_kept"_a,
           R"(Connect; RuntimeError says why not.

A request has its bytes, its timeout in nanoseconds and its headers: over gRPC a message
with its prefix; else all that is sent over HTTP/1.1, without headers. Queries send the
requests that `turns` names, over and over, or take turns if it is empty. The first answer
to each is kept where `is_kept`.)")
      .def(
          "run_closed",
          [](Load& l, std::int64_t start_ns, std::size_t callers, std::int64_t warmup_ns,
             std::int64_t min_duration_ns, std::int64_t min_count) {
            const nb::gil_scoped_release released;
            l.run_closed(start_ns, callers, {warmup_ns, min_duration_ns, min_count});
          },
          "start_ns"_a, "callers"_a, "warmup_ns"_a, "min_duration_ns"_a, "min_count"_a,
          "Keep so many queries in flight; times count from `start_ns`, of time.monotonic_ns.")
      .def(
          "run_open",
          [](Load& l, std::int64_t start_ns, const Offsets& offsets_ns, std::int64_t warmup_ns,
             std::size_t most) {
            std::vector<std::int64_t> offsets(offsets_ns.data(),
                                              offsets_ns.data() + offsets_ns.size());
            const nb::gil_scoped_release released;
            l.run_open(start_ns, std::move(offsets), warmup_ns, most);
          },
          "start_ns"_a, "offsets_ns"_a, "warmup_ns"_a, "max_outstanding"_a,
          "Send queries at these ascending times from `start_ns` on.")
      .def(
          "run_fed",
          [](Load& l, std::int64_t start_ns) {
            const nb::gil_scoped_release released;
            l.run_fed(start_ns);
          },
          "start_ns"_a, "Send what `ask` is told to, until `finish` and the last answer.")
      .def(
          "ask", [](Load& l, std::uint32_t request) { l.ask(request); }, "request"_a,
          "Send a query of that request at once; they are numbered from 0.")
      .def(
          "take",
          [](Load& l) {
            std::vector<std::pair<std::uint32_t, bool>> rows;
            const nb::gil_scoped_release released;
            for (const Mailbox::Ended& ended : l.take()) rows.emplace_back(ended.row, ended.is_ok);
            return rows;
          },
          "Wait for queries of a fed run to end: their numbers, and whether they succeeded.\n\n"
          "Empty: the run is over.")
      .def("finish", &Load::finish, "Nothing more will be asked.")
      .def(
          "first_answer",
          [](const Load& l, std::uint32_t request) -> std::optional<nb::bytes> {
            const auto& first = l.first_answer(request);
            if (!first) return std::nullopt;
            return nb::bytes(first->data(), first->size());
          },
          "request"_a,
          "The first answer to that request, of which `take` has told success, if they are "
          "kept:\n\n"
          "over gRPC a message with its prefix, else a body.")
      .def("stop", &Load::stop, "End the run, from any thread.")
      .def_prop_ro("finished", &Load::finished, "How many queries have ended so far.");
  bind_results(load);
}

}  // namespace loadgen
