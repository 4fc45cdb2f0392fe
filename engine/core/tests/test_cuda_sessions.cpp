// Sessions on a GPU's lanes, against a fake ONNX Runtime on the fake CUDA library.
#include <cstdlib>

#include "ort/cuda_session.hpp"
#include "ort_fixtures.hpp"

namespace cuda_sessions_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::size_t size = 10;

ort::SessionParams of_bytes(const std::string& text) {
  return {.model = model(text), .is_bytes = true};
}

/// x + 1 in each of `nodes` sessions, one behind the other or all of the same input.
PlanPtr sums(const MachineOwner& machine, int nodes, bool is_chain, bool captured = false) {
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input");
  builder.set_inputs({input});
  int last = builder.add_value("x");
  builder.add_copy("in", 0, 1, input, last);
  std::vector<int> made;
  for (int i = 0; i < nodes; ++i) {
    const int next = builder.add_value("x");
    builder.add_node({.name = "n",
                      .device = 1,
                      .kernel = source(of_bytes("in x 10;out y 10"), {"x"}, {"y"}),
                      .inputs = {last},
                      .outputs = {next},
                      .captured_ns = captured ? 0 : -1});
    if (is_chain) last = next;
    if (!is_chain || i + 1 == nodes) made.push_back(next);
  }
  std::vector<int> outputs;
  for (const int value : made) {
    outputs.push_back(builder.add_value("output"));
    builder.add_copy("out", 1, 0, value, outputs.back());
  }
  builder.set_outputs(outputs);
  return builder.build();
}

void check_clean(const FakeCuda& fake, const FakeOrt& ort) {
  fake.check_clean();
  ort.check_clean();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(each_lane_has_its_session_and_runs_answer_right_side_by_side) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  const FakeOrt ort;
  const std::size_t objects = ort.count("objects");
  {
    MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
    const PlanPtr chain = sums(machine, 5, true), fan = sums(machine, 7, false);
    CHECK(ort.count("opened") == 12U * static_cast<std::size_t>(lanes));
    fake.seal(true);  // no host waits, nothing is allocated of CUDA
    std::vector<std::pair<RunPtr, int>> runs;
    for (int i = 0; i < 40; ++i) {
      runs.emplace_back(machine->submit(*chain, Inputs{tensor(i, size)}, {}), i + 5);
      runs.emplace_back(machine->submit(*fan, Inputs{tensor(i, size)}, {}), i + 1);
    }
    for (const auto& [run, expected] : runs) {
      CHECK(run->wait(0, true));
      CHECK(run->outcome() == Outcome::ok);
      for (const ValuePtr& output : run->outputs())
        CHECK(numbers_in(output) == std::pair(std::int64_t{expected}, size));
    }
    CHECK(ort.count("runs") == 40 * 12 && ort.count("synchronised") == 0);
    check_clean(fake, ort);
    fake.seal(false);
  }
  check_clean(fake, ort);
  CHECK(fake.alive() == 0 && ort.count("sessions") == 0);
  CHECK(ort.count("objects") <= objects + 2);  // what is made once in the process
}

TEST(outputs_of_open_size_are_taken_as_the_run_made_them) {
  for (const char* text : {"in x ?;out y ?;out z 3", "in x ?;own;out y ?;out z 3"}) {
    const FakeCuda fake;
    const FakeOrt ort;
    MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
    const PlanPtr plan = plan_of(machine, source(of_bytes(text), {"x"}, {"y", "z"}), 1, 2);
    for (const std::size_t count : {7U, 3U, 0U, 500U, 7U}) {
      const RunPtr run = machine->run(*plan, Inputs{tensor(4, count)}, {}, 0);
      CHECK(run->outcome() == Outcome::ok);
      const std::int64_t expected = count == 0 ? 1 : 5;
      CHECK(numbers_in(run->outputs()[0]) == std::pair(count == 0 ? 0 : expected, count));
      CHECK(numbers_in(run->outputs()[1]) == std::pair(expected, std::size_t{3}));
    }
    check_clean(fake, ort);
  }
}

TEST(an_output_that_is_larger_than_declared_is_answered_all_the_same) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  const PlanPtr plan =
      plan_of(machine, source(of_bytes("in x 10;lies;out y 10"), {"x"}, {"y"}), 1, 1);
  for (int i = 0; i < 3; ++i) {
    const RunPtr run = machine->run(*plan, Inputs{tensor(i, size)}, {}, 0);
    CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{i + 1}, size + 1));
  }
  CHECK(ort.count("runs") == 4);  // one was refused
  check_clean(fake, ort);
}

TEST(pinned_memory_that_kernels_leave_goes_with_their_session) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  for (int plans = 0; plans < 3; ++plans) {
    const PlanPtr plan =
        plan_of(machine, source(of_bytes("in x 10;defers;out y 10"), {"x"}, {"y"}), 1, 1);
    for (int i = 0; i < 10; ++i)
      CHECK(machine->run(*plan, Inputs{tensor(i, size)}, {}, 0)->outcome() == Outcome::ok);
  }
  CHECK(ort.count("deferred") == 10 || lanes > 1);
  check_clean(fake, ort);
}

TEST(pinned_memory_that_kernels_leave_is_drained_now_and_then) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  const PlanPtr plan =
      plan_of(machine, source(of_bytes("in x 10;defers;out y 10"), {"x"}, {"y"}), 1, 1);
  const int runs = 3000;
  for (int i = 0; i < runs; ++i)
    CHECK(machine->run(*plan, Inputs{tensor(i, size)}, {}, 0)->outcome() == Outcome::ok);
  CHECK(ort.count("deferred") <= 1024);
  // One query at a time finds no other lane at work.
  CHECK(ort.count("deferred") == 255 || lanes > 1);
  CHECK(ort.count("synchronised") <= runs / 256);
  check_clean(fake, ort);
}

TEST(a_captured_segment_is_replayed_by_the_providers_own_graph) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  const FakeOrt ort;
  {
    MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
    const PlanPtr plan = sums(machine, 3, true, true);
    CHECK(plan->uncaptured().empty() && plan->node(1).is_captured);
    CHECK(ort.count("captures") == 3U * static_cast<std::size_t>(lanes));
    fake.seal(true);
    std::vector<RunPtr> runs;
    for (int i = 0; i < 30; ++i)
      runs.push_back(machine->submit(*plan, Inputs{tensor(i, size)}, {}));
    for (int i = 0; i < 30; ++i) {
      const RunPtr& run = runs[static_cast<std::size_t>(i)];
      CHECK(run->wait(0, true));
      CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{i + 3}, size));
    }
    CHECK(ort.count("replays") == 90 && machine->stats().devices[1].replayed == 90);
    check_clean(fake, ort);
    fake.seal(false);
  }
  check_clean(fake, ort);
  CHECK(fake.alive() == 0 && ort.count("sessions") == 0);
}

TEST(what_cannot_be_captured_is_launched_and_the_plan_says_why) {
  const FakeCuda fake;
  const FakeOrt ort;
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  const auto reason_of = [&](const std::string& text) {
    const PlanPtr plan = plan_of(machine, source(of_bytes(text), {"x"}, {"y"}), 1, 1, true);
    const RunPtr run = machine->run(*plan, Inputs{tensor(1, size)}, {}, 0);
    CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{2}, size));
    CHECK(plan->uncaptured().size() == 1);
    return plan->uncaptured()[0].second;
  };
  CHECK(contains(reason_of("in x 10;flow;out y 10"), "control flow"));
  CHECK(contains(reason_of("in x ?;out y ?"), "sizes are open"));
  for (const char* where : {"cudaStreamBeginCapture", "cudaStreamEndCapture",
                            "cudaGraphInstantiate", "cudaGraphLaunch"}) {
    fake.inject(where, 1, 900);
    CHECK(contains(reason_of("in x 10;out y 10"), "CUDA failure 900"));
  }
  fake.inject("launch", 3, 900);  // within the capture, which must be ended
  CHECK(contains(reason_of("in x 10;out y 10"), "CUDA failure 900"));
  check_clean(fake, ort);
}

TEST(partitions_of_a_gpu_share_what_a_session_needs) {
  const FakeCuda fake;
  const FakeOrt ort;
  DeviceParams first = partition(64, lanes), second = partition(32, 1);
  first.lanes = std::min(lanes, 15);
  first.of<CudaParams>().backend = make_ort_cuda_backend(0);
  MachineOwner machine(machine_of({cpu(1), first, second}));
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input"), there = builder.add_value("there"),
            here = builder.add_value("here"), end = builder.add_value("end"),
            moved = builder.add_value("moved"), output = builder.add_value("output");
  builder.set_inputs({input});
  builder.add_copy("in", 0, 1, input, there);
  const auto kernel = [] { return source(of_bytes("in x 10;out y 10"), {"x"}, {"y"}); };
  builder.add_node(
      {.name = "a", .device = 1, .kernel = kernel(), .inputs = {there}, .outputs = {here}});
  builder.add_copy("across", 1, 2, here, moved);
  builder.add_node(
      {.name = "b", .device = 2, .kernel = kernel(), .inputs = {moved}, .outputs = {end}});
  builder.add_copy("out", 2, 0, end, output);
  builder.set_outputs({output});
  const PlanPtr plan = builder.build();
  const RunPtr run = machine->run(*plan, Inputs{tensor(1, size)}, {}, 0);
  CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{3}, size));
  CHECK(fake.launches(64) == 1 && fake.launches(32) == 1);
  check_clean(fake, ort);
}

TEST(tensorrt_comes_before_the_kernels_of_onnx_runtime_if_asked_for) {
  const FakeCuda fake;
  const FakeOrt ort;
  DeviceParams params = gpu(1);
  params.of<CudaParams>().backend = make_ort_cuda_backend(0, false, {true, "/tmp/engines"});
  MachineOwner machine(machine_of({cpu(1), params}));
  for (const bool captured : {false, true}) {
    const PlanPtr plan =
        plan_of(machine, source(of_bytes("in x 10;out y 10"), {"x"}, {"y"}), 1, 1, captured);
    const RunPtr run = machine->run(*plan, Inputs{tensor(1, size)}, {}, 0);
    CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{2}, size));
    CHECK(plan->uncaptured().empty());
  }
  CHECK(ort.count("replays") > 0);
  CHECK(ort.count("tensorrt") == ort.count("opened"));
  CHECK(ort.count("engine caches") == ort.count("opened"));
  ort.has_tensorrt(false);
  std::string why;
  try {
    const PlanPtr plan = plan_of(machine, source(of_bytes("in x 10;out y 10"), {"x"}, {"y"}), 1, 1);
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  CHECK(contains(why, "no TensorRT provider here") && contains(why, "find TensorRT's"));
  check_clean(fake, ort);
}

TEST(tensorrt_is_a_choice_by_segment) {
  const FakeCuda fake;
  const FakeOrt ort;
  DeviceParams params = gpu(1);
  params.of<CudaParams>().backend = make_ort_cuda_backend(0, false, {false, "/tmp/engines"});
  MachineOwner machine(machine_of({cpu(1), params}));
  const auto answer = [&](const std::string& provider) {
    ort::SessionParams asked = of_bytes("in x 10;out y 10");
    asked.gpu_provider = provider;
    const PlanPtr plan = plan_of(machine, source(std::move(asked), {"x"}, {"y"}), 1, 1);
    const RunPtr run = machine->run(*plan, Inputs{tensor(1, size)}, {}, 0);
    return numbers_in(run->outputs()[0]);
  };
  CHECK(answer("") == std::pair(std::int64_t{2}, size));
  CHECK(ort.count("tensorrt") == 0);
  const std::size_t opened = ort.count("opened");
  CHECK(answer("tensorrt") == std::pair(std::int64_t{2}, size));
  CHECK(ort.count("tensorrt") == ort.count("opened") - opened);
  CHECK(ort.count("engine caches") == ort.count("tensorrt"));
  std::string why;
  try {
    static_cast<void>(answer("cudnn"));
  } catch (const std::exception& error) {
    why = error.what();
  }
  CHECK(contains(why, "no provider 'cudnn' for CUDA"));
  check_clean(fake, ort);
}

TEST(partitions_agree_on_tensorrt) {
  DeviceParams one = partition(64, 1), other = partition(32, 1);
  other.of<CudaParams>().providers.tensorrt = true;
  std::string why;
  try {
    MachineOwner machine(machine_of({cpu(1), one, other}));
  } catch (const std::invalid_argument& error) {
    why = error.what();
  }
  CHECK(contains(why, "all use TensorRT, or none"));
}

TEST(cublas_workspaces_are_read_as_cublas_reads_them) {
  CHECK(ort::workspace_bytes(":4096:2:16:8") == (8192U + 128U) << 10);
  CHECK(ort::workspace_bytes(":16:8") == 128U << 10);
  for (const char* none : {"", "4096:2", ":4096", ":a:b", ":4096:2:"})
    CHECK(ort::workspace_bytes(none) == 0);
}

TEST(cublas_workspaces_of_sessions_count_as_memory_of_the_device) {
  const FakeCuda fake;
  const FakeOrt ort;
  constexpr std::size_t workspace = 128U << 10;
  const auto fits = [&](std::size_t limit) {
    DeviceParams params = gpu_of_sessions(lanes);
    params.of<CudaParams>().reserve_bytes = 0;
    params.memory_bytes = limit;
    MachineOwner machine(machine_of({cpu(1), params}));
    try {
      const PlanPtr plan = sums(machine, 1, true);
      CHECK(machine->stats().devices[1].memory_bytes >=
            static_cast<std::size_t>(lanes) * workspace);
      return true;
    } catch (const std::runtime_error& error) {
      CHECK(contains(error.what(), "out of GPU memory"));
      return false;
    }
  };
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
  const std::size_t all = static_cast<std::size_t>(lanes) * workspace;
  const bool within = fits(all + (1U << 30)), without = fits(all - 1);
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  CHECK(within && !without);
  check_clean(fake, ort);
}

}  // namespace cuda_sessions_tests
