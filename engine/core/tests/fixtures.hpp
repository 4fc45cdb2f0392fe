// What the tests share: values, kernels and machines.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "devices/emulated/params.hpp"
#include "devices/kernel.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/plan_builder.hpp"
#include "scheduler/run.hpp"

namespace engine::test {

using PlanPtr = std::shared_ptr<const Plan>;
using Inputs = std::vector<ValuePtr>;

/// A number that pretends to be `size_bytes` long, and maybe to lie in memory of somebody else's.
class Number final : public Value {
 public:
  explicit Number(std::int64_t number, std::size_t size_bytes = 8, bool is_foreign = false)
      : number_(number), size_bytes_(size_bytes), is_foreign_(is_foreign) {}
  [[nodiscard]] std::size_t bytes() const noexcept override { return size_bytes_; }
  [[nodiscard]] std::shared_ptr<const Value> copied() const override {
    return is_foreign_ ? std::make_shared<const Number>(number_, size_bytes_) : nullptr;
  }
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }

 private:
  const std::int64_t number_;
  const std::size_t size_bytes_;
  const bool is_foreign_;
};

inline ValuePtr number(std::int64_t value, std::size_t size_bytes = 8) {
  return std::make_shared<Number>(value, size_bytes);
}
inline std::int64_t number_of(const ValuePtr& value) {
  return static_cast<const Number&>(*value).number();
}

/// Calls a function.
class CallKernel final : public Kernel {
 public:
  explicit CallKernel(std::function<void()> call) : call_(std::move(call)) {}
  void execute(std::span<const ValuePtr>, std::span<ValuePtr>, CancelToken*) const override {
    call_();
  }

 private:
  const std::function<void()> call_;
};

/// Each output is one more than the sum of the inputs; counts its executions.
class SumKernel final : public Kernel {
 public:
  explicit SumKernel(std::size_t size_bytes = 8) : size_bytes_(size_bytes) {}
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken*) const override {
    executions_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
    std::int64_t sum = 1;
    for (const ValuePtr& input : inputs) sum += input ? number_of(input) : 0;
    for (ValuePtr& output : outputs) output = number(sum, size_bytes_);
  }
  [[nodiscard]] int executions() const {
    return executions_.load(std::memory_order_relaxed);  // relaxed: a count
  }

 private:
  const std::size_t size_bytes_;
  mutable std::atomic<int> executions_{0};
};

inline std::shared_ptr<const Kernel> call(std::function<void()> function) {
  return std::make_shared<CallKernel>(std::move(function));
}

/// What a call throws; empty if nothing.
inline std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

inline DeviceParams cpu(int lanes) { return {.kind = "cpu", .name = "cpu", .lanes = lanes}; }

inline DeviceParams emulated(int lanes) {
  return {
      .kind = "emulated", .name = "gpu", .lanes = lanes, .own = EmulatedParams{.submit_ns = 1'000}};
}

inline MachineParams machine_of(std::vector<DeviceParams> devices) {
  return {.devices = std::move(devices), .spin_ns = 5'000};
}

/// Distinct earlier nodes, up to three.
inline std::vector<int> random_predecessors(int node, std::mt19937& random) {
  std::vector<int> after;
  for (unsigned k = random() % 4; node > 0 && k > 0; --k)
    after.push_back(static_cast<int>(random() % static_cast<unsigned>(node)));
  return after;
}

/// Whether nothing is left in any memory once no handle of a run is.
inline bool is_empty(const MachineOwner& machine) {
  const Machine::Stats stats = machine->stats();
  return stats.live_values == 0 && stats.live_bytes == 0;
}

}  // namespace engine::test
