// Work without values, for tests and micro-benchmarks.
#pragma once

#include <stdexcept>

#include "devices/kernel.hpp"
#include "scheduler/clock.hpp"

namespace engine {

/// Burns a core for `spin_ns`, or fails.
class WorkKernel final : public Kernel {
 public:
  WorkKernel(std::int64_t spin_ns, bool fail) : spin_ns_(spin_ns), fail_(fail) {}

  void execute(std::span<const ValuePtr>, std::span<ValuePtr>, CancelToken*) const override {
    const std::int64_t end_ns = now_ns() + spin_ns_;
    while (now_ns() < end_ns) cpu_relax();
    if (fail_) throw std::runtime_error("work that is meant to fail");
  }

 private:
  const std::int64_t spin_ns_;
  const bool fail_;
};

}  // namespace engine
