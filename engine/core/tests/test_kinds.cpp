// A kind of device is one file and an entry of the registry: nothing else knows this one.
#include <atomic>

#include "devices/kinds.hpp"
#include "fixtures.hpp"
#include "scheduler/ready_nodes.hpp"
#include "scheduler/run.hpp"
#include "test.hpp"

namespace engine::test {

namespace {

/// What only a toy has.
struct ToyParams {
  std::atomic<int>* executed = nullptr;
};

/// Executes nodes in the thread that hands them over.
class Toy final : public Device {
 public:
  explicit Toy(const Opening& opening)
      : Device(opening.params().name, opening.params().lanes),
        machine_(opening.machine),
        executed_(*opening.params().get<ToyParams>().executed) {}
  void start() override {}
  void stop() noexcept override {}
  void push(const Task& task) override {
    const PlanNode& node = task.run->plan().node(task.node);
    NodeValues values;
    task.run->take_inputs(node, values);
    task.run->compute(task.node, node, values);
    executed_.fetch_add(1);
    task.run->publish(task.node, node, values);
    ReadyNodes ready;
    ready.complete(*task.run, node, now_ns());
    ready.hand_on(machine_);
  }
  [[nodiscard]] DeviceStats stats() const override {
    return {.executed = static_cast<std::uint64_t>(executed_.load())};
  }

 private:
  Machine& machine_;
  std::atomic<int>& executed_;
};

void check(const DeviceParams& params) {
  params.require(params.get<ToyParams>().executed != nullptr, "a toy counts what it executes");
}

DeviceKind toy_kind() {
  return {.name = "toy",
          .open = [](const Opening& opening) -> std::unique_ptr<Device> {
            return std::make_unique<Toy>(opening);
          },
          .check = check};
}

DeviceParams toy(std::atomic<int>* executed) {
  static const bool known = (add_kind(toy_kind()), true);
  static_cast<void>(known);
  return {.kind = "toy", .name = "toy:a", .own = ToyParams{executed}};
}

}  // namespace

TEST(a_toy_of_one_file_executes_its_nodes_among_those_of_the_cpu) {
  std::atomic<int> executed{0}, called{0};
  MachineOwner machine(machine_of({cpu(lanes), toy(&executed)}));
  PlanBuilder builder(machine.get());
  const auto add = [&](const char* name, int device, std::vector<int> after) {
    return builder.add_node({.name = name,
                             .device = device,
                             .kernel = call([&] { called.fetch_add(1); }),
                             .after = std::move(after)});
  };
  const int first = add("first", 0, {});
  const int left = add("left", 1, {first}), right = add("right", 0, {first});
  add("last", 1, {left, right});
  const PlanPtr plan = builder.build();
  for (int i = 0; i < 10; ++i) CHECK(machine->run(*plan, {}, {}, 0)->outcome() == Outcome::ok);
  CHECK(executed == 20);
  CHECK(called == 40);
  CHECK(machine->stats().devices[1].executed == 20);
}

TEST(a_kind_checks_its_own_params_and_none_is_there_twice) {
  std::atomic<int> executed{0};
  const auto refusal = [](const DeviceParams& params) {
    return failure_of([&] { MachineOwner machine(machine_of({cpu(1), params})); });
  };
  CHECK(refusal(toy(nullptr)) == "device 'toy:a': a toy counts what it executes");
  DeviceParams other = toy(&executed);
  other.own = EmulatedParams{};
  CHECK(refusal(other) == "device 'toy:a': parameters of another kind");
  CHECK(failure_of([] { add_kind(toy_kind()); }) == "there is a kind 'toy' already");
  CHECK(refusal({.kind = "tpu", .name = "t"}).starts_with("device 't': kind 'tpu' is unknown"));
}

}  // namespace engine::test
