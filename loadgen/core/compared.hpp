// An answer's bytes beside those of the first answer to the same request, which is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace loadgen {

/// Compares as the bytes come, without keeping them but for the first answer.
class Compared {
 public:
  using First = std::optional<std::string>;

  /// `first` is filled by the first answer that ends; null: nothing is kept. Unless it judges, any
  /// answer is as good as the first one.
  Compared() = default;
  Compared(First* first, bool judges)
      : first_(first), judges_(judges), records_(first != nullptr && !first->has_value()) {}

  void add(const std::uint8_t* data, std::size_t bytes);
  /// All of it has come: whether it is as the first one.
  [[nodiscard]] bool end();

 private:
  First* first_ = nullptr;
  bool judges_ = false;
  bool records_ = false;
  bool differs_ = false;
  std::size_t at_ = 0;
  std::string kept_;
};

}  // namespace loadgen
