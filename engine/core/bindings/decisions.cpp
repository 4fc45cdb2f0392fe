// What the core's scheduler decides in given states, for tests that compare it with its twin in
// Python (colocation/policies/core_order).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "bindings/plan.hpp"
#include "devices/cpu/cpu_device.hpp"
#include "devices/cpu/loan.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/fair_share.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/plan_builder.hpp"
#include "scheduler/ready_queue.hpp"
#include "scheduler/run.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using StateRows = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// The queue reads the clock itself, so a state's times are whole minutes: what passes between a
/// state's making and its last decision is nothing beside the half minute that keeps ties apart.
constexpr std::int64_t minute_ns = 60'000'000'000;

std::int64_t at_ns(std::int64_t begin_ns, std::int64_t minutes) {
  return begin_ns + minutes * minute_ns + minute_ns / 2;
}

/// A column of Decisions.taken()'s rows.
enum Column { state, priority, best_effort, is_due, due, takes, width, has_begun, columns };

/// Puts states into a real queue of a real machine, whose lanes never run them.
class Decisions {
 public:
  /// Lanes, those that are taken, and in how many minutes each of these comes free.
  Decisions(int lanes, const std::vector<std::int64_t>& taken)
      : machine_(MachineParams{.devices = {{.kind = "cpu", .name = "cpu", .lanes = lanes}}}),
        taken_(taken),
        lanes_(lanes) {}

  /// Of each state, in the order of taking: the rows whose nodes one lane takes, -1 behind the
  /// last.
  std::vector<std::int64_t> taken(const StateRows& rows) {
    if (rows.shape(1) != columns) throw nb::value_error("rows have eight columns");
    std::vector<std::int64_t> found;
    for (std::size_t first = 0; first < rows.shape(0);) {
      std::size_t last = first;
      while (last < rows.shape(0) && rows(last, state) == rows(first, state)) ++last;
      take_all(rows, first, last, found);
      found.push_back(-1);
      first = last;
    }
    return found;
  }

 private:
  using Kind = std::tuple<std::int64_t, int>;

  const Plan& plan(const StateRows& rows, std::size_t row) {
    const Kind kind{rows(row, takes), static_cast<int>(rows(row, width))};
    auto& plan = plans_[kind];
    if (plan == nullptr) {
      // The second node is what has begun has left to do.
      PlanBuilder builder(machine_.get());
      const std::int64_t ns = std::get<0>(kind) * minute_ns;
      const int wide = std::get<1>(kind);
      builder.add_node({.name = "first", .width = wide, .service_ns = ns});
      builder.add_node({.name = "second", .after = {0}, .width = wide, .service_ns = ns});
      plan = builder.build();
      plan->share_with(share_);  // as of one model: those that are not due go by arrival
    }
    return *plan;
  }

  void take_all(const StateRows& rows, std::size_t first, std::size_t last,
                std::vector<std::int64_t>& found) {
    const std::int64_t begin_ns = now_ns();
    Seats seats(lanes_);
    for (std::size_t lane = 0; lane < taken_.size(); ++lane)
      seats.forecast.begin(static_cast<int>(lane), 1, at_ns(begin_ns, taken_[lane]));
    static_cast<void>(seats.table.try_take(static_cast<int>(taken_.size()) + 1));
    ReadyQueue queue(0, &seats);
    std::vector<RunPtr> runs;
    for (std::size_t row = first; row < last; ++row) {
      runs.emplace_back(begun(rows, row, begin_ns, row - first));
      const std::uint32_t position = rows(row, has_begun) != 0 ? 1 : 0;
      queue.push(*runs.back(), {&position, 1});
    }
    ReadyQueue::Taker taker;
    for (Task task; queue.pop(task, taker);) {
      for (std::size_t i = 0; i < runs.size(); ++i)
        if (runs[i].get() == task.run) found.push_back(static_cast<std::int64_t>(i));
      seats.table.give_back(taker.seats - 1);
      taker.seats = 1;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) clear(*runs[i]);
  }

  Run* begun(const StateRows& rows, std::size_t row, std::int64_t begin_ns, std::uint64_t arrival) {
    Run* const run = plan(rows, row).take_run();
    RunOptions options;
    options.priority = static_cast<int>(rows(row, priority));
    options.best_effort = rows(row, best_effort) != 0;
    if (rows(row, is_due) != 0) options.due_ns = at_ns(begin_ns, rows(row, due));
    run->begin({}, std::move(options), arrival);
    return run;
  }

  /// It was never in flight: gives it back as it was.
  static void clear(Run& run) {
    while (!run.ready(0).empty()) static_cast<void>(run.ready(0).pop_first());
    run.unpin();
  }

  const MachineOwner machine_;
  const std::vector<std::int64_t> taken_;
  const int lanes_;
  const std::shared_ptr<FairShare> share_ = std::make_shared<FairShare>();
  std::map<Kind, std::shared_ptr<const Plan>> plans_;
};

std::vector<std::int64_t> taken_first(int lanes, const std::vector<std::int64_t>& taken,
                                      const StateRows& rows) {
  if (lanes < 1 || static_cast<int>(taken.size()) >= lanes)
    throw nb::value_error("one lane at least must be free");
  return Decisions(lanes, taken).taken(rows);
}

/// Rows of state, priority, best effort, is due, due_ns, arrival, end_ns; each state's first row is
/// of the run that waits.
std::vector<std::int64_t> lent(const StateRows& rows, std::int64_t now_ns) {
  if (rows.shape(1) != 7) throw nb::value_error("rows have seven columns");
  const auto order = [&](std::size_t row) {
    return RunOrder::of(static_cast<int>(rows(row, 1)), rows(row, 2) != 0,
                        rows(row, 3) != 0 ? rows(row, 4) : 0,
                        static_cast<std::uint64_t>(rows(row, 5)));
  };
  std::vector<std::int64_t> found;
  for (std::size_t row = 0; row < rows.shape(0);) {
    const std::int64_t state = rows(row, 0);
    LeastUrgent last(order(row), now_ns, CpuDevice::worth_lending_ns / 2);
    std::int64_t lender = -1, lane = 0;
    for (++row; row < rows.shape(0) && rows(row, 0) == state; ++row, ++lane) {
      Loan loan;
      loan.begin(order(row), rows(row, 6));
      if (last.is_it(*loan.offer())) lender = lane;
    }
    found.push_back(last.waits() ? -1 : lender);
  }
  return found;
}

}  // namespace

void bind_decisions(nb::module_& m) {
  m.def("taken_first", &taken_first, "lanes"_a, "taken"_a, "rows"_a,
        nb::sig("def taken_first(lanes: int, taken: Sequence[int], rows: NDArray[numpy.int64])"
                " -> list[int]"),
        R"(For tests: in which order one lane takes the nodes of each state from the core's queue.

Parameters
----------
lanes : int
    Of the device, of which one is free for the taker; others that are not taken are free, too.
taken : list of int
    In how many and a half minutes each of the taken lanes is predicted to come free.
rows : array of int64, shape (nodes, 8)
    State, ascending; priority; best effort; whether it is due; in how many and a half
    minutes; minutes that each of its two nodes takes; width; whether the first one has run.
    In a state earlier rows came earlier.

Returns
-------
list of int
    For each state the rows' places in it as they are taken, then -1.)");
  m.def("lent_lanes", &lent, "rows"_a, "now_ns"_a,
        nb::sig("def lent_lanes(rows: NDArray[numpy.int64], now_ns: int) -> list[int]"),
        R"(For tests: which of each state's computing lanes the core would lend, -1 for none.

Parameters
----------
rows : array of int64, shape (runs, 7)
    State, ascending; priority; best effort; whether it is due; due_ns; arrival; predicted
    end_ns. A state's first row is of the run that waits, the others of what lanes compute.)");
}

}  // namespace engine
