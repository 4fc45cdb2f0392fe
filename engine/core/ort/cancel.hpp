// What ends ONNX Runtime's runs in the middle: the terminate flag of their options.
#pragma once

#include <atomic>

#include "devices/kernel.hpp"
#include "ort/runtime.hpp"

namespace engine::ort {

/// Ends the runs that are given its options at their next operator; one operator that does not end
/// cannot be ended.
class OrtCancelToken final : public CancelToken {
 public:
  OrtCancelToken()
      : api_(Runtime::get().api()), options_(create<OrtRunOptions>(api_.create_run_options)) {}
  void cancel() noexcept override {
    cancelled_.store(true, std::memory_order_relaxed);  // relaxed: a hint to stop, orders nothing
    ignore(api_.set_terminate(options_.get()));
  }
  void reset() noexcept override {
    cancelled_.store(false, std::memory_order_relaxed);  // relaxed: no kernel is running
    ignore(api_.unset_terminate(options_.get()));
  }
  [[nodiscard]] bool is_cancelled() const noexcept override {
    return cancelled_.load(std::memory_order_relaxed);  // relaxed: see cancel()
  }
  [[nodiscard]] const OrtRunOptions* options() const noexcept { return options_.get(); }

 private:
  void ignore(OrtStatus* status) const noexcept {
    if (status != nullptr) api_.release_status(status);
  }

  const Api& api_;
  Handle<OrtRunOptions> options_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace engine::ort
