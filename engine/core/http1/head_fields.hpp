// Fields of a message's head as they arrive, piece by piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http1/llhttp_calls.hpp"

namespace engine::http1 {

/// The field that is read, and what transfer coding those before it named.
class HeadFields {
 public:
  /// What a field counts for beside its name and value.
  static constexpr std::size_t each_bytes = 4;

  void add_to_name(std::string_view piece) {
    if (name_.size() < longest_name) name_ += piece.substr(0, longest_name - name_.size());
  }
  void add_to_value(std::string_view piece) { value_ += piece; }
  /// The field is whole: it is taken if it is wanted; its name is in small letters from now on.
  void take(std::span<const std::string_view> wanted,
            std::vector<std::pair<std::string, std::string>>& taken) {
    value_.resize(value_.find_last_not_of(" \t") + 1);
    std::ranges::transform(name_, name_.begin(), lower);
    if (std::ranges::find(wanted, name_) != wanted.end()) taken.emplace_back(name_, value_);
    if (name_ == "transfer-encoding") transfer_ = value_;
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& value() const noexcept { return value_; }
  void next() {
    name_.clear();
    value_.clear();
  }
  /// Of another message.
  void clear() {
    next();
    transfer_.clear();
  }
  /// Whether a transfer coding is named that is none we take.
  [[nodiscard]] bool is_coded_otherwise() const noexcept {
    return !transfer_.empty() && !same(transfer_, "chunked");
  }

 private:
  static constexpr std::size_t longest_name = 64;  ///< of fields that we look at

  std::string name_, value_, transfer_;
};

}  // namespace engine::http1
