// The broker's table, for Python.
#include "broker/broker.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "bindings/plan.hpp"
#include "bindings/released_gil.hpp"
#include "scheduler/asked_models.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using broker::Broker;

/// One of the process, or one of its own.
struct PyAskedModels {
  std::unique_ptr<AskedModels> own;
  AskedModels* models = own.get();
};

nb::list leases() {
  nb::list rows;
  for (const broker::Listed& lease : Broker::of_process().list()) {
    nb::dict row;
    row["slot"] = lease.slot;
    row["process"] = lease.process;
    row["is_in_our_space"] = lease.is_in_our_space;
    row["name"] = lease.name;
    row["what"] = lease.what;
    row["device"] = lease.device;
    row["computes"] = lease.computes;
    row["best_effort"] = lease.order.is_best_effort();
    row["due_ns"] = lease.order.is_due() ? lease.order.due_ns : 0;
    row["width"] = lease.width;
    row["since_ns"] = lease.since_ns;
    row["end_ns"] = lease.end_ns;
    rows.append(row);
  }
  return rows;
}

}  // namespace

void bind_broker(nb::module_& m) {
  nb::class_<PyAskedModels>(m, "AskedModels", "Who was asked lately, of models that are due.")
      .def(
          "__init__",
          [](PyAskedModels* self, std::int64_t lately_ns) {
            new (self) PyAskedModels{std::make_unique<AskedModels>(lately_ns)};
          },
          "lately_ns"_a = AskedModels::usual_ns, "How long queries of others count.")
      .def_static("of_process", [] { return PyAskedModels{nullptr, &AskedModels::of_process()}; })
      .def(
          "asked",
          [](const PyAskedModels& self, std::uintptr_t who, std::int64_t now_ns,
             std::int64_t elsewhere_ns) { return self.models->asked(who, now_ns, elsewhere_ns); },
          "who"_a, "now_ns"_a, "elsewhere_ns"_a,
          R"(A query of a model came; whether one of another came lately.

`who` is any number that tells models apart, `elsewhere_ns` when one came to another
process.)")
      .def(
          "take_news", [](const PyAskedModels& self) { return self.models->take_news(); },
          "Whether other processes came, as asked() was told, since the last call.");
  m.def(
      "join_broker",
      [](const std::string& path, const std::string& name) {
        Broker::of_process().join(path, name);
      },
      "path"_a, "name"_a, nb::call_guard<ReleasedGil>(),
      R"(Share the cores with the other processes that have joined this file, made where it is not.

`name` is shown to them. Again: says anew which CPUs this process may use. Raises RuntimeError
naming the file and why it cannot be used.)");
  m.def("has_joined_broker", [] { return Broker::of_process().has_joined(); });
  m.def(
      "is_sharing_cores", [] { return Broker::of_process().is_shared(); },
      "Whether other processes have joined.");
  m.def("leases", &leases, nb::sig("def leases() -> list[dict[str, Any]]"),
        R"(What computes now, or waits for its turn, in all processes that have joined.

Times are on time.monotonic_ns()'s clock: when it began, when it will end, as predicted, when it
is due (0: it is not). What dead processes left is freed before.)");
  m.def(
      "asked_elsewhere",
      [](std::int64_t now_ns) {
        Broker::of_process().note_asked(now_ns);
        return Broker::of_process().asked_elsewhere();
      },
      "now_ns"_a,
      R"(Say that a query that is due came; when one came to another process last.

1: none did, but one may; 0: no other process expects any.)");
  m.def(
      "expect_asked",
      [] {
        Broker::of_process().expect_asked();
        return Broker::of_process().asked_elsewhere();
      },
      "Say that queries that are due may come; the same of other processes, as asked_elsewhere().");
}

}  // namespace engine
