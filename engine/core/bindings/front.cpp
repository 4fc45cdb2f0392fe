#include "bindings/front.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "bindings/plan.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using frontend::FrontCounts;
using frontend::FrontTimes;
using frontend::Histogram;

void lead(const PyRoute& self, const PyPlan& plan, const std::vector<const PyPlan*>& busy,
          std::uint64_t found, bool always, bool by_neighbours, std::uintptr_t who,
          bool is_bounded) {
  std::vector<frontend::PlanPtr> plans;
  for (const PyPlan* one : busy) plans.push_back(one->plan);
  self.route->lead(plan.plan, std::move(plans),
                   {.found = found,
                    .always = always,
                    .by_neighbours = by_neighbours,
                    .who = who,
                    .is_bounded = is_bounded});
}

nb::list take_counts(const PyFrontModel& self) {
  const FrontCounts::Totals totals = self.model->counts.take();
  nb::list rows;
  for (std::size_t kind = 0; kind < FrontCounts::kinds; ++kind)
    rows.append(nb::make_tuple(totals.counts[kind], totals.nanoseconds[kind]));
  return rows;
}

nb::tuple histogram_row(const Histogram& histogram) {
  nb::list counts;
  for (const std::uint64_t count : histogram.counts()) counts.append(count);
  return nb::make_tuple(counts, histogram.total_ns());
}

nb::list times_of(const FrontTimes& times) {
  nb::list rows;
  for (const Histogram* one : {&times.whole, &times.queue, &times.compute})
    rows.append(histogram_row(*one));
  return rows;
}

void bind_times(nb::module_& m) {
  nb::class_<FrontTimes>(m, "QueryTimes",
                         R"(Histograms of how long queries took that were answered well.

One thread at a time adds, any reads.)")
      .def(nb::init<>())
      .def("add", &FrontTimes::add, "whole_ns"_a, "executing_ns"_a, "waited_ns"_a,
           "`waited_ns`: of `executing_ns`, for a lane; negative: as the last one.")
      .def("rows", &times_of, nb::sig("def rows(self) -> list[tuple[list[int], int]]"),
           "Of the whole, the queue and the computation: counts by bucket, and nanoseconds in all.")
      .def_static(
          "bounds_us",
          [] {
            nb::list bounds;
            for (std::size_t i = 0; i < Histogram::bounds; ++i)
              bounds.append(Histogram::bound_us(i));
            return bounds;
          },
          nb::sig("def bounds_us() -> list[int]"),
          "Upper bounds of the buckets, in microseconds; the last bucket has none.");
}

nb::list trouble_of(const PyFrontTally& self) {
  nb::list counts;
  for (const std::uint64_t count : self.tally->trouble.counts()) counts.append(count);
  return counts;
}

void bind_tally(nb::module_& m) {
  nb::class_<PyFrontTally>(
      m, "FrontTally",
      "What the front end counts of a version of a model, from one load of it to the next.")
      .def(nb::init<>())
      .def(
          "times", [](const PyFrontTally& self) { return times_of(self.tally->times); },
          nb::sig("def times(self) -> list[tuple[list[int], int]]"),
          "As `QueryTimes.rows`, of the queries that were answered there.")
      .def("trouble", &trouble_of, nb::sig("def trouble(self) -> list[int]"),
           R"(How many queries, by why they were not answered or not in time.

Late, refused, queue full, memory, deadline, cancelled, shutdown, input, failed.)");
}

}  // namespace

void bind_front_parts(nb::module_& m) {
  bind_times(m);
  bind_tally(m);
  nb::class_<PyRoute>(m, "Route", "Which plan answers a model's next query, for the front end.")
      .def(nb::init<>())
      .def("lead", &lead, "plan"_a, "busy"_a = std::vector<const PyPlan*>{}, "found"_a = 0,
           "always"_a = false, "by_neighbours"_a = false, "who"_a = 0, "is_bounded"_a = false,
           R"(Lead queries so from now on.

Parameters
----------
busy
    The plans for while queries overlap, in turn; where one is wanted and none is there,
    Python is asked.
found
    It is wanted where a query finds so many in flight; 0: not for that.
always
    It is wanted for all.
by_neighbours
    It is wanted while queries of other models come.
who
    For which queries count, for other models; 0: for none.
is_bounded
    The sizes of the inputs alone decide how long a query runs.)")
      .def(
          "close", [](const PyRoute& self) { self.route->close(); },
          "Lead none from now on: Python answers.");
  nb::class_<PyFrontModel>(m, "FrontModel", "A model that was offered to a front end.")
      .def_prop_ro("in_flight",
                   [](const PyFrontModel& self) {
                     // relaxed: a number to look at
                     return self.model->in_flight.load(std::memory_order_relaxed);
                   })
      .def_prop_ro(
          "last_ns",
          [](const PyFrontModel& self) {
            // relaxed: a number to look at
            return self.model->last_ns.load(std::memory_order_relaxed);
          },
          "When the last query was answered well, monotonic; 0: none was.")
      .def("take_counts", &take_counts, nb::sig("def take_counts(self) -> list[tuple[int, int]]"),
           R"(Counts and nanoseconds since the last call, by kind.

Success, fail, refused, compute input, queue (of some queries), executing, compute output,
cache hit, cache miss.)");
  nb::class_<PyTlsContext>(m, "TlsContext", "A server's certificates, as their files were.")
      .def(
          "__init__",
          [](PyTlsContext* self, std::string certificate, std::string key, std::string client_ca) {
            new (self) PyTlsContext{std::make_shared<const tls::Context>(
                tls::Files{std::move(certificate), std::move(key), std::move(client_ca)})};
          },
          "certificate"_a, "key"_a, "client_ca"_a = "",
          R"(Read PEM files; with `client_ca` who connects needs a certificate of its authorities.

Raises RuntimeError without OpenSSL, and naming a file that does not do.)")
      .def_static(
          "check", [] { return tls::Api::open().name; },
          "The library's name; raises RuntimeError saying why it cannot be opened.");
}

}  // namespace engine
