// What an allocation above the process's limit throws.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>

namespace engine {

/// Thrown through ONNX Runtime's kernels, which their executor makes a status of; what is left of
/// it then is its text.
class MemoryRefused final : public std::bad_alloc {
 public:
  static constexpr std::string_view kText = "above the memory limit";
  /// What a StatusError says of it, beside ONNX Runtime's own numbers.
  static constexpr int kCode = 1'000;

  explicit MemoryRefused(std::size_t bytes);
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

  /// Whether an error's text is one of these, in whatever words of others.
  [[nodiscard]] static bool is_said_by(std::string_view text) noexcept;
  /// What is said of it to whoever asked.
  [[nodiscard]] static std::string cut_from(std::string_view text);

 private:
  std::string text_;
};

}  // namespace engine
