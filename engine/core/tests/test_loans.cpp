// A more urgent run takes the place of one that computes.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "devices/cpu/loan.hpp"
#include "fixtures.hpp"
#include "test.hpp"

namespace loans_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::int64_t hour_ns = 3'600'000'000'000;

RunOptions due_in(std::int64_t ns) {
  RunOptions options;
  options.due_ns = now_ns() + ns;
  return options;
}

/// Runs that compute until they are let go, one after another.
class Holders {
 public:
  explicit Holders(const MachineOwner& machine) : machine_(machine) {}
  ~Holders() { let_go(); }

  /// Begins another one, which computes when this returns.
  void hold(const RunOptions& options, int nodes = 1, std::int64_t service_ns = 10 * hour_ns) {
    PlanBuilder builder(machine_.get());
    const int wanted = held + 1;
    builder.add_node({.name = "hold",
                      .kernel = call([this] {
                        ++held;
                        while (!done_) usleep(100);
                      }),
                      .service_ns = service_ns});
    for (int i = 1; i < nodes; ++i)
      builder.add_node({.name = "more", .kernel = call([] {}), .after = {i - 1}});
    plans_.push_back(builder.build());
    runs_.push_back(machine_->submit(*plans_.back(), {}, options));
    while (held < wanted) usleep(100);
  }
  void let_go() {
    done_ = true;
    for (const RunPtr& run : runs_) run->wait(0, false);
  }
  [[nodiscard]] bool all_well() const {
    return std::ranges::all_of(runs_, [](const RunPtr& r) { return r->outcome() == Outcome::ok; });
  }

  std::atomic<int> held{0};

 private:
  const MachineOwner& machine_;
  std::atomic<bool> done_{false};
  std::vector<PlanPtr> plans_;
  std::vector<RunPtr> runs_;
};

PlanPtr quick(const MachineOwner& machine, std::atomic<int>& count) {
  PlanBuilder builder(machine.get());
  const int first = builder.add_node({.name = "a", .kernel = call([&] { ++count; })});
  builder.add_node({.name = "b", .kernel = call([&] { ++count; }), .after = {first}});
  return builder.build();
}

}  // namespace

TEST(what_is_due_sooner_does_not_wait_for_a_lane) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> count{0};
  const PlanPtr urgent = quick(machine, count);
  Holders holders(machine);
  for (int i = 0; i < lanes; ++i) holders.hold(due_in(20 * hour_ns));
  for (int i = 0; i < 20; ++i)
    CHECK(machine->run(*urgent, {}, due_in(hour_ns), 0)->outcome() == Outcome::ok);
  CHECK(count == 40);
  holders.let_go();
  CHECK(holders.all_well());
}

TEST(what_is_not_more_urgent_waits) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> count{0};
  const PlanPtr other = quick(machine, count);
  Holders holders(machine);
  for (int i = 0; i < lanes; ++i) holders.hold(due_in(20 * hour_ns));
  const RunPtr later = machine->submit(*other, {}, due_in(30 * hour_ns));
  const RunPtr not_due = machine->submit(*other, {}, {});
  RunOptions lower = due_in(1);
  lower.priority = -1;
  const RunPtr low = machine->submit(*other, {}, lower);
  usleep(20'000);
  CHECK(count == 0);
  holders.let_go();
  for (const RunPtr& run : {later, not_due, low}) CHECK(run->wait(0, false));
  CHECK(count == 6);
}

TEST(the_place_of_who_came_first_is_lent_again_to_the_yet_more_urgent) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> count{0};
  const PlanPtr urgent = quick(machine, count);
  for (const bool most_urgent_last : {true, false}) {
    Holders holders(machine);
    for (int i = 0; i < 4 * lanes; ++i) holders.hold(due_in((30 - i / lanes) * hour_ns), 3);
    CHECK(machine->run(*urgent, {}, due_in(hour_ns), 0)->outcome() == Outcome::ok);
    if (most_urgent_last) {
      RunOptions first;
      first.priority = 1;
      for (int i = 0; i < lanes; ++i) holders.hold(first);
    }
    holders.let_go();
    CHECK(holders.all_well());
  }
  CHECK(count == 4);
}

TEST(what_can_afford_it_waits_for_a_lane) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> count{0};
  const PlanPtr urgent = quick(machine, count);
  Holders holders(machine);
  for (int i = 0; i < lanes; ++i) holders.hold(due_in(100 * hour_ns), 1, hour_ns);
  const RunPtr waits = machine->submit(*urgent, {}, due_in(5 * hour_ns));
  usleep(20'000);
  CHECK(count == 0);
  RunOptions first;
  first.priority = 1;
  CHECK(machine->run(*urgent, {}, first, 0)->outcome() == Outcome::ok);
  // It has a lane, which goes on with what waits there.
  CHECK(machine->run(*urgent, {}, due_in(3 * hour_ns), 0)->outcome() == Outcome::ok);
  holders.let_go();
  CHECK(waits->wait(0, false) && count == 6);
}

TEST(loans_under_load_lose_nothing) {
  MachineOwner machine(machine_of({cpu(lanes)}));
  std::atomic<int> count{0};
  const auto plan_of = [&](std::int64_t service_ns) {
    PlanBuilder builder(machine.get());
    const auto kernel = [&, service_ns] {
      return call([&, service_ns] {
        const std::int64_t end_ns = now_ns() + service_ns / 20;
        while (now_ns() < end_ns) cpu_relax();
        ++count;
      });
    };
    const int first = builder.add_node({.name = "a", .kernel = kernel(), .service_ns = service_ns});
    std::vector<int> middle;
    for (int i = 0; i < 3; ++i)
      middle.push_back(builder.add_node(
          {.name = "m", .kernel = kernel(), .after = {first}, .service_ns = service_ns}));
    builder.add_node({.name = "z", .kernel = kernel(), .after = middle, .service_ns = service_ns});
    return builder.build();
  };
  const PlanPtr tight = plan_of(400'000), loose = plan_of(2'000'000), wide = [&] {
    PlanBuilder builder(machine.get());
    builder.add_node(
        {.name = "w", .kernel = call([&] { ++count; }), .width = lanes, .service_ns = 1'000'000});
    return builder.build();
  }();
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const PlanPtr& plan = t == 0 ? tight : t == 1 ? loose : i % 8 == 0 ? wide : loose;
        const RunOptions options = due_in(t == 0 ? 1'000'000 : (t + 1) * 20'000'000);
        const RunPtr run =
            i % 2 == 0 ? machine->run(*plan, {}, options, 0) : machine->submit(*plan, {}, options);
        run->wait(0, t == 2);
        if (run->outcome() != Outcome::ok) ++wrong;
      }
    });
  for (auto& caller : callers) caller.join();
  CHECK(wrong == 0);
  CHECK(count == 5 * (60 + 60 + 52 + 52) + 16);
  CHECK(machine->stats().devices[0].queued == 0);
}

TEST(a_loan_ends_once) {
  Loan loan;
  const RunOrder order = RunOrder::of(0, false, hour_ns, 7);
  CHECK(!loan.offer());
  loan.begin(order, 5);
  const auto offer = loan.offer();
  CHECK(offer && offer->order.due_ns == hour_ns && offer->end_ns == 5);
  CHECK(!loan.was_lent() && loan.lend(*offer) && !loan.lend(*offer) && !loan.offer());
  CHECK(loan.was_lent());
  CHECK(loan.give_back() && !loan.give_back() && loan.offer());
  CHECK(loan.lend(*loan.offer()) && !loan.try_end() && loan.leave());
  CHECK(!loan.give_back() && !loan.offer());
  loan.begin(order, 6);
  CHECK(!loan.lend(*offer));  // that was another computation
  CHECK(loan.lend(*loan.offer()) && loan.give_back() && !loan.leave());
  loan.begin(order, 7);
  CHECK(!loan.was_lent());
  CHECK(loan.lend(*loan.offer()) && loan.give_back() && loan.was_lent());
  CHECK(loan.try_end() && !loan.offer());
}

}  // namespace loans_tests
