// A model whose queries are numbers, and may be answered together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fixtures.hpp"

namespace engine::test {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t bad = -1;

/// Of as many rows as the number has thousands, or one; a negative one is bad data.
inline std::uint32_t rows_of(std::int64_t number) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(number / 1'000, 1));
}

/// Notes what it is called for: the inputs, in their order.
class NotingKernel final : public Kernel {
 public:
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    std::vector<std::int64_t> asked;
    for (const ValuePtr& input : inputs) asked.push_back(number_of(input));
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(asked);
    }
    if (on_call) on_call(token);
    if (std::ranges::find(asked, bad) != asked.end()) throw std::runtime_error("bad data");
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = number(asked[i] + 1);
  }
  [[nodiscard]] std::vector<std::vector<std::int64_t>> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  std::function<void(CancelToken*)> on_call;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::vector<std::int64_t>> calls_;
};

/// A stack of numbers is a call of as many inputs and outputs.
class NumberStacker final : public Stacker {
 public:
  [[nodiscard]] std::uint32_t rows(std::span<const Value* const> inputs) const noexcept override {
    if (inputs[0]->bytes() != 8) return 0;  // of another shape
    return rows_of(static_cast<const Number*>(inputs[0])->number());
  }
  void execute(const Kernel& kernel, std::span<const StackedQuery> queries,
               CancelToken* token) const override {
    std::vector<ValuePtr> inputs, outputs(queries.size());
    for (const StackedQuery& query : queries) inputs.push_back(query.inputs[0]);
    kernel.execute(inputs, outputs, token);
    for (std::size_t i = 0; i < queries.size(); ++i) queries[i].outputs[0] = outputs[i];
  }
};

/// What n rows take, where each costs `more_ns` beside `base_ns`.
inline std::vector<std::int64_t> takes(std::int64_t base_ns, std::int64_t more_ns, int rows = 8) {
  std::vector<std::int64_t> all;
  for (int n = 1; n <= rows; ++n) all.push_back(base_ns + n * more_ns);
  return all;
}

class StackFlag final : public CancelToken {
 public:
  void cancel() noexcept override { cancelled_ = true; }
  void reset() noexcept override { cancelled_ = false; }
  [[nodiscard]] bool is_cancelled() const noexcept override { return cancelled_; }

 private:
  std::atomic<bool> cancelled_{false};
};

/// A model whose queries are stacked.
struct StackedModel {
  std::shared_ptr<NotingKernel> kernel = std::make_shared<NotingKernel>();
  PlanPtr plan;

  explicit StackedModel(const MachineOwner& machine,
                        std::vector<std::int64_t> takes_ns = takes(4 * ms, ms),
                        std::uint32_t least_rows = 1, int width = 1, std::int64_t service_ns = 0) {
    PlanBuilder builder(machine.get());
    builder.set_token_maker(
        []() -> std::unique_ptr<CancelToken> { return std::make_unique<StackFlag>(); });
    const int in = builder.add_value("in"), out = builder.add_value("out");
    builder.add_node({.name = "model",
                      .kernel = kernel,
                      .inputs = {in},
                      .outputs = {out},
                      .width = width,
                      .service_ns = service_ns});
    builder.set_inputs({in});
    builder.set_outputs({out});
    plan = builder.build();
    if (!takes_ns.empty()) stack(std::move(takes_ns), least_rows);
  }
  void stack(std::vector<std::int64_t> takes_ns, std::uint32_t least_rows = 1) const {
    plan->stack_by(std::make_unique<const Stacking>(std::make_shared<NumberStacker>(), least_rows,
                                                    std::move(takes_ns)));
  }
};

}  // namespace engine::test
