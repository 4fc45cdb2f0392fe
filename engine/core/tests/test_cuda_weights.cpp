// Weights on a GPU: read from the ONNX file, uploaded once, shared by lanes and plans.
#include "files/onnx_weights.hpp"
#include "ort_fixtures.hpp"

namespace cuda_weights_tests {

using namespace engine;
using namespace engine::test;

namespace {

constexpr std::size_t size = 10, weight_size = 1000;

std::size_t used_bytes(const MachineOwner& machine) {
  return machine->stats().devices[1].used_bytes;
}

/// A model of one input with the weights v (1) and w (100) of another file.
std::string write_model(const Folder& folder, const std::string& name) {
  folder.write("weights.bin", int64_bytes(1, weight_size) + int64_bytes(100, weight_size));
  return folder.write(name, model("in x 10;weight v 1000 1;weight w 1000 100;out y 10",
                                  {initializer("v", "weights.bin", 0, weight_size),
                                   initializer("w", "weights.bin", 8 * weight_size, weight_size)}));
}

}  // namespace

TEST(weights_of_an_onnx_file_are_found_wherever_their_bytes_are) {
  const std::string bytes =
      model("in x 1;out y 1", {initializer("raw", 5, 200), initializer("small", 5, 2),
                               initializer("outside", "there.bin", 64, 300)});
  const auto found = onnx_weights(bytes, 1024);
  CHECK(found.size() == 2);
  CHECK(found[0].name == "raw" && found[0].bytes == 1600 && found[0].location.empty());
  CHECK(bytes.substr(found[0].offset, 1600) == int64_bytes(5, 200));
  CHECK(found[0].shape == std::vector<std::int64_t>{200} && found[0].elem_type == 7);
  CHECK(found[1].name == "outside" && found[1].location == "there.bin");
  CHECK(found[1].offset == 64 && found[1].bytes == 2400);
  CHECK(onnx_weights("this is no protobuf", 0).empty());
  for (std::size_t cut = 0; cut < bytes.size(); cut += 7)
    CHECK(onnx_weights(bytes.substr(0, cut), 0).size() <= 3);
}

/// Found by fuzz/onnx_files: it was read from behind the model's end.
TEST(a_weight_that_names_no_file_lies_in_the_model_or_nowhere) {
  CHECK(onnx_weights(model("in x 1;out y 1", {initializer("nowhere", "", 1U << 30, 300)}), 1)
            .empty());
  const std::string bytes =
      model("in x 1;out y 1",
            {initializer("w", 5, 200) +
             field(13, field(1, std::string("offset")) + field(2, std::string("999999")))});
  const auto found = onnx_weights(bytes, 1);
  CHECK(found.size() == 1 && bytes.substr(found[0].offset, found[0].bytes) == int64_bytes(5, 200));
}

TEST(weights_are_on_the_gpu_once_however_many_lanes_and_plans_use_them) {
  const FakeCuda fake;
  const FakeOrt ort;
  const Folder folder;
  const std::string one = write_model(folder, "one.onnx"), two = write_model(folder, "two.onnx");
  {
    DeviceParams params = gpu_of_sessions(lanes);
    MachineOwner machine(machine_of({cpu(1), params}));
    PlanPtr first = plan_of(machine, source({.model = one}, {"x"}, {"y"}), 1, 1);
    const std::size_t alone = used_bytes(machine);
    const PlanPtr second = plan_of(machine, source({.model = two}, {"x"}, {"y"}), 1, 1);
    const std::size_t opened = 2 * 2 * static_cast<std::size_t>(lanes);
    CHECK(ort.count("shared") == opened && ort.count("copied") == 0);
    // The second plan adds only what its sessions have of their own.
    CHECK(used_bytes(machine) - alone < 8 * weight_size);
    fake.seal(true);
    for (const PlanPtr& plan : {first, second})
      for (int i = 0; i < 5; ++i) {
        const RunPtr run = machine->run(*plan, Inputs{tensor(i, size)}, {}, 0);
        CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{i + 102}, size));
      }
    fake.seal(false);
    first.reset();  // the second plan keeps them
    const RunPtr run = machine->run(*second, Inputs{tensor(0, size)}, {}, 0);
    CHECK(numbers_in(run->outputs()[0]) == std::pair(std::int64_t{102}, size));
    fake.check_clean();
  }
  fake.check_clean();
  ort.check_clean();
  CHECK(fake.alive() == 0 && ort.count("sessions") == 0);
}

TEST(weights_are_read_anew_when_their_file_has_changed) {
  const FakeCuda fake;
  const FakeOrt ort;
  const Folder folder;
  const auto answer = [&](const MachineOwner& machine, const std::string& path) {
    const PlanPtr plan = plan_of(machine, source({.model = path}, {"x"}, {"y"}), 1, 1);
    return numbers_in(machine->run(*plan, Inputs{tensor(0, size)}, {}, 0)->outputs()[0]).first;
  };
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  const auto write = [&](std::int64_t number) {
    return folder.write("m.onnx", model("in x 10;weight w 1000 0;out y 10",
                                        {initializer("w", number, weight_size)}));
  };
  CHECK(answer(machine, write(7)) == 8);
  const PlanPtr kept = plan_of(machine, source({.model = write(7)}, {"x"}, {"y"}), 1, 1);
  CHECK(answer(machine, write(-3000)) == -2999);
  fake.check_clean();
  ort.check_clean();
}

TEST(captured_segments_share_their_weights_with_launched_ones) {
  const FakeCuda fake;
  const FakeOrt ort;
  const Folder folder;
  const std::string path = write_model(folder, "m.onnx");
  MachineOwner machine(machine_of({cpu(1), gpu_of_sessions(lanes)}));
  const PlanPtr launched = plan_of(machine, source({.model = path}, {"x"}, {"y"}), 1, 1);
  const PlanPtr captured = plan_of(machine, source({.model = path}, {"x"}, {"y"}), 1, 1, true);
  CHECK(captured->uncaptured().empty() && ort.count("copied") == 0);
  std::vector<RunPtr> runs;
  for (int i = 0; i < 10; ++i)
    for (const PlanPtr& plan : {launched, captured})
      runs.push_back(machine->submit(*plan, Inputs{tensor(i, size)}, {}));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CHECK(runs[i]->wait(0, true));
    CHECK(numbers_in(runs[i]->outputs()[0]).first == static_cast<std::int64_t>(i / 2) + 102);
  }
  fake.check_clean();
  ort.check_clean();
}

}  // namespace cuda_weights_tests
