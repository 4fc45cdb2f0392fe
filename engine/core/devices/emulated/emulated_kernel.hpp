// What an emulated device executes: a real kernel, or what it answered the first time.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "devices/kernel.hpp"

namespace engine {

/// Remembers whether the node ran before, and its outputs if they are to be replayed. Executed
/// by the device's one thread only, hence the mutable members without a lock.
class EmulatedKernel final : public Kernel {
 public:
  EmulatedKernel(std::shared_ptr<const Kernel> kernel, bool replay)
      : kernel_(std::move(kernel)), replay_(replay) {}

  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    if (!recorded_.empty()) {
      std::copy(recorded_.begin(), recorded_.end(), outputs.begin());
      return;
    }
    kernel_->execute(inputs, outputs, token);
    if (replay_) recorded_.assign(outputs.begin(), outputs.end());
  }
  /// True once.
  [[nodiscard]] bool is_first_run() const noexcept { return std::exchange(first_, false); }

 private:
  const std::shared_ptr<const Kernel> kernel_;
  const bool replay_;
  mutable bool first_ = true;
  mutable std::vector<ValuePtr> recorded_;
};

}  // namespace engine
