// Random plans over the CPU and GPUs of the fake CUDA, whose answers are known.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "cuda_fixtures.hpp"

namespace engine::test {

inline constexpr std::size_t random_plan_input = 100;  ///< numbers of its input

/// A random graph over the CPU and GPUs, with its copies, and what it must answer.
struct RandomPlan {
  PlanPtr plan;
  std::vector<std::int64_t> expected;  ///< for an input of 5
};

class RandomPlanner {
 public:
  /// Device 0 is the CPU, all others are GPUs.
  RandomPlanner(const MachineOwner& machine, std::mt19937& random, bool waits = false)
      : builder_(machine.get()),
        gpus_(static_cast<unsigned>(machine->device_count() - 1)),
        random_(random),
        waits_(waits) {}

  RandomPlan make() {
    const int input = value("input", on_cpu, 5, random_plan_input);
    builder_.set_inputs({input});
    const int nodes = 2 + static_cast<int>(random_() % 18);
    for (int i = 0; i < nodes; ++i) add_node();
    std::vector<int> outputs;
    RandomPlan made;
    for (std::size_t i = 1; i < values_.size(); ++i)
      if (values_[i].uses == 0 || random_() % 8 == 0) {
        outputs.push_back(in(static_cast<int>(i), on_cpu));
        made.expected.push_back(values_[i].number);
      }
    builder_.set_outputs(outputs);
    made.plan = builder_.build();
    return made;
  }

 private:
  struct Made {
    int index;
    int device;
    std::int64_t number;
    std::size_t count;
    int uses = 0;
    std::map<int, int> copies = {};  ///< the value in other memories, by device
  };

  int value(const char* name, int device, std::int64_t number, std::size_t count) {
    values_.push_back({builder_.add_value(name), device, number, count});
    return values_.back().index;
  }
  /// The value's index in that device's memory.
  int in(int which, int device) {
    Made& made = values_[static_cast<std::size_t>(which)];
    ++made.uses;
    if (made.device == device) return made.index;
    const auto [copy, is_new] = made.copies.try_emplace(device);
    if (is_new) {
      copy->second = builder_.add_value("copied");
      builder_.add_copy("copy", made.device, device, made.index, copy->second);
    }
    return copy->second;
  }
  void add_node() {
    const bool on_gpu = random_() % 3 != 0;
    const int device = on_gpu ? 1 + static_cast<int>(random_() % gpus_) : on_cpu;
    const std::size_t count = 1 + random_() % 500;
    std::vector<int> inputs;
    std::vector<std::size_t> counts;
    std::int64_t number = 1;
    for (unsigned k = 1 + random_() % 3; k > 0; --k) {
      const auto which = static_cast<int>(random_() % values_.size());
      inputs.push_back(in(which, device));
      number += values_[static_cast<std::size_t>(which)].number;  // at most 4^20
      counts.push_back(values_[static_cast<std::size_t>(which)].count);
    }
    std::shared_ptr<const Kernel> kernel;
    if (on_gpu && waits_ && random_() % 3 == 0)
      kernel = std::make_shared<WaitingSum>(count);
    else if (on_gpu)
      kernel = std::make_shared<GpuSum>(count, std::move(counts));
    else
      kernel = std::make_shared<HostSum>(count);
    builder_.add_node({.name = "n",
                       .device = device,
                       .kernel = std::move(kernel),
                       .inputs = inputs,
                       .outputs = {value("v", device, number, count)},
                       .captured_ns = on_gpu && random_() % 4 == 0 ? 0 : -1});
  }

  static constexpr int on_cpu = 0;

  PlanBuilder builder_;
  const unsigned gpus_;
  std::mt19937& random_;
  const bool waits_;  ///< whether some kernels wait for the GPU
  std::vector<Made> values_;
};

/// Runs `rounds` batches of ten plans, some runs cancelled; returns how many answers were wrong.
inline int run_plans(const MachineOwner& machine, std::mt19937& random, int rounds, bool cancels,
                     bool waits = false) {
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<RandomPlan> plans;
    std::vector<std::pair<RunPtr, const RandomPlan*>> runs;
    for (int i = 0; i < 10; ++i) plans.push_back(RandomPlanner(machine, random, waits).make());
    for (const RandomPlan& plan : plans) {
      runs.emplace_back(machine->submit(*plan.plan, Inputs{host_numbers(5, random_plan_input)}, {}),
                        &plan);
      if (cancels && random() % 3 == 0) runs.back().first->cancel();
    }
    for (const auto& [run, plan] : runs) {
      CHECK(run->wait(0, true));
      if (run->outcome() == Outcome::cancelled) continue;
      CHECK(run->outcome() == Outcome::ok);
      const auto outputs = run->outputs();
      for (std::size_t i = 0; i < outputs.size(); ++i)
        wrong += numbers_of(outputs[i]) != plan->expected[i] ? 1 : 0;
    }
  }
  return wrong;
}

}  // namespace engine::test
