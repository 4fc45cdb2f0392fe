// Queries that have ended in a front end, for Python.
#include "frontend/recent_queries.hpp"

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "bindings/front.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

using frontend::RecentQueries;
using frontend::SeenQuery;

namespace {

nb::list rows_of(const std::vector<SeenQuery>& queries) {
  nb::list rows;
  for (const SeenQuery& query : queries)
    rows.append(nb::make_tuple(text(query.model->name), text(query.model->version), text(query.id),
                               text(query.trace_parent), query.plan, query.arrival,
                               query.received_ns, query.started_ns, query.ended_ns,
                               query.answered_ns, query.waited_ns,
                               query.trouble ? static_cast<int>(*query.trouble) : -1));
  return rows;
}

}  // namespace

void bind_recent_queries(nb::module_& m) {
  nb::class_<RecentQueries>(m, "RecentQueries", R"(The last queries that ended in a front end.

A row is model, version, id and trace parent as the client gave them, plan (0: of another
process) and arrival of its run, when it was received, started, ended and answered, what it
waited for a lane (-1: not known), and its place in `FrontTally.trouble` (-1: in time).)")
      .def(
          "all", [](const RecentQueries& self) { return rows_of(self.all()); },
          nb::sig("def all(self) -> list[tuple[str, str, str, str, int, int, int, int, int, int, "
                  "int, int]]"),
          "1024 of them at most, the oldest first.")
      .def("sample", &RecentQueries::sample, "every"_a, "follows"_a,
           "Keep one query of so many, 0 none; with `follows` those of sampled traces, too.")
      .def(
          "take_sampled", [](RecentQueries& self) { return rows_of(self.take_sampled()); },
          nb::sig("def take_sampled(self) -> list[tuple[str, str, str, str, int, int, int, int, "
                  "int, int, int, int]]"),
          "Those that were kept since the last call, 1024 at most.");
}

}  // namespace engine
