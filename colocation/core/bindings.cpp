// surplus.colocation._chooser: the choice of the next batch for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "chooser.hpp"
#include "prices.hpp"
#include "python_queues.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace colocation {

namespace {

using PlaceRow = std::tuple<Count, Count, std::vector<Count>>;
using ServiceRow = std::tuple<Count, std::vector<PlaceRow>>;
using HeldRow = std::tuple<Count, Count, Ns, Count>;
using RoomRow =
    std::tuple<Count, bool, Count, Count, std::vector<ServiceRow>, std::vector<HeldRow>>;
using PatienceRow = std::tuple<double, Count, Count>;
using ColumnRow = std::tuple<double, Count, Ns, double, Count, Ns, Count, Count, Count, Count>;
using StartRow = std::tuple<Count, std::size_t, std::vector<ColumnRow>>;
using PriceRow = std::tuple<double, double>;
using HopelessRow = std::tuple<Count, Ns>;
using Answer = std::variant<StartRow, HopelessRow, std::monostate>;

template <typename Row, typename Tuple>
Row row_of(const Tuple& tuple) {
  return std::apply([](const auto&... field) { return Row{field...}; }, tuple);
}

DeviceRoom room_of(const RoomRow& row) {
  const auto& [device, on_demand, partitions, least_percent, services, running] = row;
  std::vector<ServicePlaces> places;
  for (const auto& [service, own] : services) {
    places.push_back({service, {}});
    for (const PlaceRow& place : own) places.back().places.push_back(row_of<SharePlace>(place));
  }
  std::vector<HeldShare> held;
  for (const HeldRow& own : running) held.push_back(row_of<HeldShare>(own));
  return {device, on_demand, partitions, least_percent, std::move(places), held};
}

ColumnRow row_of(const Column& own) {
  const WaitingBatch& task = own.task;
  return {own.score,    own.service,   task.deadline_ns, task.value, task.share_percent,
          task.took_ns, own.partition, own.skipped,      own.size,   own.full};
}

/// A chooser that reads the controller's queues.
class PythonChooser : public Chooser {
 public:
  PythonChooser(Params params, std::vector<double> values, Alone alone, bool grouped)
      : Chooser(std::move(params), std::move(values), std::move(alone)), grouped_(grouped) {}

  Answer choose(nb::handle waiting, Ns now_ns, std::optional<Count> device,
                std::optional<Count> came, bool again) {
    queues_.lend(waiting);
    if (!again) queues_.change();
    const Choice found = next(queues_, {device, came}, now_ns);
    if (const auto* hopeless = std::get_if<Hopeless>(&found)) {
      queues_.change(hopeless->service);
      return HopelessRow{hopeless->service, hopeless->end_ns};
    }
    const auto* start = std::get_if<Start>(&found);
    if (!start) return std::monostate();
    const Column& best = columns()[start->best];
    if (!grouped_ || !start->undivided) {
      queues_.change(best.service);
      return StartRow{start->device, 0, {row_of(best)}};
    }
    queues_.change();
    std::vector<ColumnRow> rows;
    for (const Column& own : columns()) rows.push_back(row_of(own));
    return StartRow{start->device, start->best, std::move(rows)};
  }

  PriceRow price(nb::handle waiting, const std::vector<double>& rates_per_s,
                 const std::vector<double>& works, const std::vector<double>& values,
                 double horizon_s, double capacity) {
    queues_.lend(waiting);
    queues_.change();
    const std::size_t services = queues_.size();
    if (rates_per_s.size() != services || works.size() != services || values.size() != services)
      throw std::invalid_argument("rates, works and values: one of each service expected");
    counts_.clear();
    for (std::size_t k = 0; k < services; ++k)
      counts_.push_back(static_cast<double>(queues_.of(static_cast<Count>(k)).size()) +
                        rates_per_s[k] * horizon_s);
    const Price found = price_of(counts_, works, values, capacity, order_);
    return {found.per_work, found.most};
  }

 private:
  const bool grouped_;
  PythonQueues queues_;
  std::vector<double> counts_;
  std::vector<std::size_t> order_;
};

void make(PythonChooser* self, std::vector<double> values, Alone alone, std::vector<double> costs,
          double patience, double fill, double thrift, double blocking, bool together, bool skip,
          double regroups_above, bool reserve, bool look_ahead, bool grouped) {
  if (costs.size() != kFullPercent + 1) throw std::invalid_argument("costs: 101 numbers expected");
  Params params{patience, fill,           thrift,  blocking,   together,
                skip,     regroups_above, reserve, look_ahead, std::move(costs)};
  new (self) PythonChooser(std::move(params), std::move(values), std::move(alone), grouped);
}

void set_rooms(PythonChooser& chooser, const std::vector<RoomRow>& rows) {
  std::vector<DeviceRoom> rooms;
  for (const RoomRow& row : rows) rooms.push_back(room_of(row));
  chooser.set_rooms(std::move(rooms));
}

void set_patiences(PythonChooser& chooser, const std::vector<PatienceRow>& rows, Count slots) {
  std::vector<Patience> patiences;
  for (const PatienceRow& row : rows) patiences.push_back(row_of<Patience>(row));
  chooser.set_patiences(std::move(patiences), slots);
}

}  // namespace

NB_MODULE(_chooser, m) {
  m.doc() = "Chooses the batch that starts next; policies/surplus/native_starts.py asks it.";
  nb::class_<PythonChooser>(m, "Chooser", "One thread asks it. Times of batches are remembered.")
      .def("__init__", &make, "values"_a, "alone_ns"_a, "costs"_a, nb::kw_only(), "patience"_a,
           "fill"_a, "thrift"_a, "blocking"_a, "together"_a, "skip"_a, "regroups_above"_a,
           "reserve"_a, "look_ahead"_a, "grouped"_a,
           R"(Options as of PricedParams; values of queries by service, costs of shares by percent.

alone_ns takes service, items, sequence and share, and is asked once for each four. grouped
says whether all columns of a device that is not divided are wanted.)")
      .def("set_rooms", &set_rooms, "rooms"_a,
           R"(Serve on these devices; what they wished is forgotten.

Rows of device, on_demand, partitions, least_percent, places and what runs: places are rows
of service, and of share, batch and partitions; what runs of partition, share, end and
service.)")
      .def("set_patiences", &set_patiences, "patiences"_a, "slots"_a,
           "As of Blocking; rows of wait, service and share, sorted.")
      .def("set_works", &Chooser::set_works, "works"_a)
      .def("set_prices", &Chooser::set_prices, "per_work"_a, "per_ns"_a)
      .def("price_of", &PythonChooser::price, "waiting"_a, "rates_per_s"_a, "works"_a, "values"_a,
           "horizon_s"_a, "capacity"_a,
           "As price_of_waiting of policies/surplus/prices.py: per_work and most.")
      .def("set_ratios", &Chooser::set_ratios, "service"_a, "mean"_a, "bound"_a)
      .def("set_given_up", &Chooser::set_given_up, "service"_a, "part"_a)
      .def("set_value", &Chooser::set_value, "service"_a, "value"_a)
      .def("warm", &Chooser::warm, "service"_a, "items"_a, "share_percent"_a, "most_items"_a,
           "Ask for the times of batches beforehand.")
      .def("next", &PythonChooser::choose, "waiting"_a, "now_ns"_a, "device"_a.none(),
           "came"_a.none(), "again"_a,
           R"(What to do now: nothing, give a query up, or start a batch.

device says where a group has ended, came of which service a query came; waiting is of the
state. again says that nothing has changed since the last answer but by that. Who is given
up is a row of service and end. Who starts is a row of device, place among columns, and
columns: rows of score, service, deadline, value, share, time, partition, skipped, size and
full.)")
      .def(
          "started",
          [](PythonChooser& chooser, Count device, Count partition, Count share, Ns end_ns,
             Count service,
             Ns took_ns) { chooser.started(device, {partition, share, end_ns, service}, took_ns); },
          "device"_a, "partition"_a, "share_percent"_a, "end_ns"_a, "service"_a, "took_ns"_a)
      .def("ended", &Chooser::ended, "partition"_a)
      .def("wake_ns", &Chooser::wake_ns, "now_ns"_a,
           "When to ask again, if nothing happens before; None if never.");
}

}  // namespace colocation
