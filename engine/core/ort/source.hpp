// A session that is not open yet: what a device makes its own sessions of.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "devices/kernel.hpp"
#include "ort/session.hpp"

namespace engine::ort {

/// For devices of which opens_sessions() is true. Immutable.
class SessionSource final : public Kernel {
 public:
  SessionSource(SessionParams params, std::vector<std::string> input_names,
                std::vector<std::string> output_names)
      : params_(std::move(params)),
        input_names_(std::move(input_names)),
        output_names_(std::move(output_names)) {}

  [[nodiscard]] const SessionParams& params() const noexcept { return params_; }
  /// In the order of the node's values.
  [[nodiscard]] const std::vector<std::string>& input_names() const noexcept {
    return input_names_;
  }
  [[nodiscard]] const std::vector<std::string>& output_names() const noexcept {
    return output_names_;
  }
  void execute(std::span<const ValuePtr>, std::span<ValuePtr>, CancelToken*) const override {
    throw std::logic_error("a session that is not open cannot be run");
  }

 private:
  const SessionParams params_;
  const std::vector<std::string> input_names_, output_names_;
};

}  // namespace engine::ort
