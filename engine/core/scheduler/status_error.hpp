// An error with the number that the library which met it gives it.
#pragma once

#include <stdexcept>
#include <string>

namespace engine {

/// What a kernel throws whose library numbers its errors; of ONNX Runtime an `OrtErrorCode`.
class StatusError final : public std::runtime_error {
 public:
  StatusError(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace engine
