// Devices whose nodes are executed by a provider's one thread.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>

#include "devices/plugin/params.hpp"
#include "devices/submitting_thread.hpp"
#include "fixtures.hpp"
#include "test.hpp"

namespace plugin_device_tests {

using namespace engine;
using namespace engine::test;

namespace {

using ThreadPtr = std::shared_ptr<SubmittingThread>;

DeviceParams plugin(const ThreadPtr& thread) {
  return {.kind = "plugin",
          .name = "plugin:fake",
          .own = PluginParams{.provider = "fake", .thread = thread}};
}

std::thread::id id_of(SubmittingThread& thread) {
  std::thread::id id;
  thread.call([&] { id = std::this_thread::get_id(); });
  return id;
}

/// Passes sums on, and counts executions on any other thread.
class ConfinedKernel final : public Kernel {
 public:
  ConfinedKernel(std::thread::id owner, std::atomic<int>& strays)
      : owner_(owner), strays_(strays) {}
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    if (std::this_thread::get_id() != owner_) ++strays_;
    sum_.execute(inputs, outputs, token);
  }

 private:
  const std::thread::id owner_;
  std::atomic<int>& strays_;
  SumKernel sum_;
};

}  // namespace

TEST(a_submitting_thread_executes_in_order_and_passes_failures_on) {
  SubmittingThread thread;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    SubmittingThread::Job job = [&order, i] { order.push_back(i); };
    CHECK(thread.post(job));
  }
  CHECK(failure_of([&] { thread.call([] { throw std::runtime_error("no"); }); }) == "no");
  CHECK(std::ranges::is_sorted(order) && order.size() == 100);
  thread.call([&] { thread.call([&] { order.clear(); }); });  // on itself: at once
  CHECK(order.empty());
  thread.stop();
  SubmittingThread::Job late = [] {};
  CHECK(!thread.post(late) && late);
  CHECK(!failure_of([&] { thread.call([] {}); }).empty());
}

TEST(calls_in_a_forked_child_say_that_the_thread_is_not_there) {
  SubmittingThread thread;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a call that hangs
    SubmittingThread::Job late = [] {};
    const bool posted = thread.post(late);
    const std::string failure = failure_of([&] { thread.call([] {}); });
    thread.stop();
    ::_exit(!posted && failure.find("forked") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(nodes_of_all_machines_are_executed_by_the_one_thread) {
  const auto thread = std::make_shared<SubmittingThread>();
  std::atomic<int> strays{0}, wrong{0};
  const auto kernel = std::make_shared<ConfinedKernel>(id_of(*thread), strays);
  const auto drive = [&](unsigned seed) {
    std::mt19937 random(seed);
    MachineOwner machine(machine_of({cpu(lanes), plugin(thread)}));
    PlanBuilder builder(machine.get());
    const int nodes = 60;
    for (int i = 0; i < nodes; ++i) {
      const int device = static_cast<int>(random() % 2);
      builder.add_node({.name = std::to_string(i),
                        .device = device,
                        .kernel = device == 1 ? std::shared_ptr<const Kernel>(kernel)
                                              : std::make_shared<SumKernel>(),
                        .after = random_predecessors(i, random)});
    }
    const PlanPtr plan = builder.build();
    for (int i = 0; i < 10; ++i) {
      const RunPtr run = i % 2 == 0 ? machine->submit(*plan, {}, {.traced = true})
                                    : machine->run(*plan, {}, {.traced = true}, 0);
      run->wait(0, true);
      if (run->outcome() != Outcome::ok) ++wrong;
    }
    if (machine->stats().devices[0].executed + machine->stats().devices[1].executed != 10 * nodes)
      ++wrong;
    if (!is_empty(machine)) ++wrong;
  };
  std::vector<std::thread> drivers;
  for (unsigned seed = 0; seed < 3; ++seed) drivers.emplace_back(drive, seed);
  for (auto& driver : drivers) driver.join();
  CHECK(strays == 0);
  CHECK(wrong == 0);
}

TEST(values_go_to_a_plugin_device_and_back) {
  const auto thread = std::make_shared<SubmittingThread>();
  MachineOwner machine(machine_of({cpu(lanes), plugin(thread)}));
  PlanBuilder builder(machine.get());
  const int x = builder.add_value("x"), there = builder.add_value("there"),
            made = builder.add_value("made"), back = builder.add_value("back");
  builder.add_copy("up", 0, 1, x, there, 0);
  builder.add_node({.name = "sum",
                    .device = 1,
                    .kernel = std::make_shared<SumKernel>(),
                    .inputs = {there},
                    .outputs = {made}});
  builder.add_copy("down", 1, 0, made, back, 0);
  builder.set_inputs({x});
  builder.set_outputs({back});
  const PlanPtr plan = builder.build();
  const RunPtr run = machine->run(*plan, Inputs{number(41)}, {.traced = true}, 0);
  CHECK(number_of(run->outputs()[0]) == 42);
  for (const NodeSpan& span : run->spans())
    CHECK(span.lane >= 0 && span.ready_ns <= span.start_ns && span.start_ns <= span.end_ns);
}

TEST(an_urgent_run_overtakes_at_the_next_node) {
  const auto thread = std::make_shared<SubmittingThread>();
  MachineOwner machine(machine_of({cpu(1), plugin(thread)}));
  std::vector<int> order;
  const auto plan_of = [&](int mark) {
    PlanBuilder builder(machine.get());
    for (int i = 0; i < 3; ++i)
      builder.add_node({.name = std::to_string(i), .device = 1, .kernel = call([&order, mark] {
                                                                  order.push_back(mark);
                                                                })});
    return builder.build();
  };
  const PlanPtr patient = plan_of(0), urgent = plan_of(1);
  RunPtr first, second;
  // The thread is held until both have come.
  thread->call([&] {
    first = machine->submit(*patient, {}, {});
    second = machine->submit(*urgent, {}, {.priority = 1});
  });
  first->wait(0, false);
  second->wait(0, false);
  CHECK((order == std::vector<int>{1, 1, 1, 0, 0, 0}));
}

TEST(a_cancelled_run_ends_without_its_nodes) {
  const auto thread = std::make_shared<SubmittingThread>();
  MachineOwner machine(machine_of({cpu(1), plugin(thread)}));
  PlanBuilder builder(machine.get());
  for (int i = 0; i < 5; ++i)
    builder.add_node({.name = std::to_string(i),
                      .device = 1,
                      .kernel = std::make_shared<SumKernel>(),
                      .after = i == 0 ? std::vector<int>{} : std::vector<int>{i - 1}});
  const PlanPtr plan = builder.build();
  RunPtr run;
  thread->call([&] {
    run = machine->submit(*plan, {}, {});
    run->cancel();
  });
  run->wait(0, false);
  CHECK(run->outcome() == Outcome::cancelled);
  CHECK(machine->stats().devices[1].executed == 0);
}

TEST(a_failure_names_the_node_and_the_device_goes_on) {
  const auto thread = std::make_shared<SubmittingThread>();
  MachineOwner machine(machine_of({cpu(1), plugin(thread)}));
  bool fails = true;
  PlanBuilder builder(machine.get());
  builder.add_node({.name = "bad", .device = 1, .kernel = call([&] {
                                                  if (fails) throw std::runtime_error("lost");
                                                })});
  const PlanPtr plan = builder.build();
  CHECK(machine->run(*plan, {}, {}, 0)->error() == "model 'bad': lost");
  fails = false;
  CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
}

TEST(a_plugin_device_needs_a_thread_and_has_one_lane) {
  const auto refusal = [](const DeviceParams& params) {
    return failure_of([&] { MachineOwner machine(machine_of({cpu(1), params})); });
  };
  CHECK(refusal({.kind = "plugin", .name = "plugin:x"}) ==
        "device 'plugin:x': its provider is not open");
  DeviceParams wide = plugin(std::make_shared<SubmittingThread>());
  wide.lanes = 2;
  CHECK(refusal(wide) == "device 'plugin:fake': a plugin provider has one lane, got 2");
}

}  // namespace plugin_device_tests
