// One process at a time on a GPU, the most urgent first.
#include "broker/device_lease.hpp"

#include <algorithm>

#include "broker_fixtures.hpp"
#include "cuda_fixtures.hpp"

namespace device_lease_tests {

using namespace engine;
using namespace engine::broker;
using namespace engine::test;

namespace {

constexpr std::int64_t hour_ns = 3'600 * second_ns;

/// Two processes, each with a lease of the same device.
struct Leases {
  Leases() {
    own.join(folder.file(), "own");
    other.join(folder.file(), "other");
  }
  BrokerFolder folder;
  Broker own, other;
  const std::uint64_t number = device_number("0000:FA:CE.0");  // the fake GPU's
  DeviceLease first{own, number}, second{other, number};
};

bool may(DeviceLease& lease, std::int64_t due_in_ns, std::int64_t service_ns = second_ns) {
  return lease.may_submit(claim(due_in_ns, service_ns), now_ns());
}

/// x + 1 on the GPU.
PlanPtr plan_on(const MachineOwner& machine, std::int64_t service_ns) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input"), on_gpu = builder.add_value("on the GPU"),
            sum = builder.add_value("sum"), output = builder.add_value("output");
  builder.set_inputs({input});
  builder.add_copy("in", 0, 1, input, on_gpu);
  builder.add_node({.name = "add",
                    .device = 1,
                    .kernel = std::make_shared<GpuSum>(10),
                    .inputs = {on_gpu},
                    .outputs = {sum},
                    .service_ns = service_ns,
                    .captured_ns = -1});
  builder.add_copy("out", 1, 0, sum, output);
  builder.set_outputs({output});
  return builder.build();
}

}  // namespace

TEST(devices_have_numbers_of_their_own) {
  CHECK(device_number("0000:FA:CE.0") == device_number("0000:FA:CE.0"));
  CHECK(device_number("0000:FA:CE.0") != device_number("0000:FA:CE.1") && device_number("") != 0);
}

TEST(a_device_is_one_process_at_a_time_its) {
  Leases of;
  CHECK(may(of.first, second_ns) && of.first.is_held());
  CHECK(!may(of.second, hour_ns) && of.second.waits());
  CHECK(may(of.first, second_ns));  // more of what is more urgent
  of.first.end();
  CHECK(may(of.second, hour_ns) && of.second.is_held());
  CHECK(!of.first.is_held() && !of.first.waits());
}

TEST(who_holds_a_device_makes_way_for_what_is_more_urgent) {
  Leases of;
  CHECK(may(of.first, hour_ns));
  CHECK(!may(of.second, hour_ns / 2));  // it can afford to wait for a second
  CHECK(!may(of.first, hour_ns) && of.first.is_held());
  of.first.end();
  CHECK(!may(of.first, hour_ns) && of.first.waits());
  CHECK(may(of.second, hour_ns / 2));
  of.second.end();
  CHECK(may(of.first, hour_ns));
}

TEST(what_cannot_afford_to_wait_for_a_device_begins_beside) {
  Leases of;
  CHECK(may(of.first, hour_ns));
  CHECK(may(of.second, 2 * second_ns) && of.second.is_held() && of.first.is_held());
}

TEST(leases_of_other_devices_and_of_cores_do_not_matter) {
  Leases of;
  CHECK(may(of.first, second_ns));
  DeviceLease elsewhere(of.other, device_number("another")), unknown(of.other, 0);
  CHECK(may(elsewhere, hour_ns) && may(unknown, hour_ns) && !unknown.is_held());
  CHECK(of.other.begin(of.other.take_row(), claim(hour_ns), never).beside == -1);
  const std::vector<Listed> found = of.own.list();
  CHECK(std::ranges::count(found, of.number, &Listed::device) == 1 && found.size() == 3);
}

TEST(who_waits_for_a_device_does_not_wait_for_ever) {
  Leases of;
  CHECK(may(of.first, second_ns));
  const std::int64_t began_ns = now_ns();
  CHECK(holds([&] { return may(of.second, hour_ns); }));
  CHECK(now_ns() - began_ns >= Broker::news_ns && of.first.is_held());
}

TEST(a_device_of_who_is_killed_is_free) {
  Leases of;
  Child child([&] {
    auto* const its = new Broker;
    its->join(of.folder.file(), "child");
    if (!may(*new DeviceLease(*its, of.number), second_ns)) _exit(1);
  });
  CHECK(!may(of.first, hour_ns));
  child.kill();
  CHECK(holds([&] { return may(of.first, hour_ns); }));
  CHECK(of.other.sweep() == 0);  // it was found by who waited
}

TEST(kernels_wait_for_those_of_other_processes) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  Leases of;
  {
    MachineParams params = machine_of({cpu(1), gpu(lanes)});
    params.broker = &of.own;
    MachineOwner machine(params);
    const PlanPtr plan = plan_on(machine, second_ns), quick = plan_on(machine, 1'000);
    const auto submit = [&](const PlanPtr& which, std::int64_t due_in_ns) {
      RunOptions options;
      options.due_ns = now_ns() + due_in_ns;
      return machine->submit(*which, Inputs{host_numbers(5, 10)}, options);
    };
    CHECK(may(of.second, second_ns));
    const RunPtr run = submit(plan, hour_ns);
    CHECK(holds([&] {
      const std::vector<Listed> found = of.other.list();
      return run->done() || std::ranges::any_of(found, [](const Listed& lease) {
               return lease.what == "add" && !lease.computes;
             });
    }));
    const RunPtr next = submit(quick, hour_ns);
    CHECK(next->wait(0, false));  // pays nothing
    of.second.end();
    CHECK(run->wait(0, false) && run->outcome() == Outcome::ok);
    CHECK(numbers_of(run->outputs()[0]) == 6);
    CHECK(holds([&] { return of.other.list().empty(); }));
    CHECK(may(of.second, second_ns));
    const RunPtr cancelled = submit(plan, hour_ns);
    cancelled->cancel();
    CHECK(cancelled->wait(0, false));
    CHECK(holds([&] { return of.other.list().size() == 1; }));  // and waits no longer
  }
  fake.check_clean();
}

}  // namespace device_lease_tests
