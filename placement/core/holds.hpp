// Who waits for more than he reads, since a placement holds him: placement/waits.py says for what.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem.hpp"

namespace placement {

/// Of one placement, and how far a query has released its copies. Not thread-safe.
class Holds {
 public:
  /// Rows of a tensor that is waited for, who waits, and a memory: the waiter is a task if that is
  /// -1, else a tensor whose copy to that memory waits. Throws std::invalid_argument where an index
  /// is out of range. What was taken before is forgotten.
  void take(const Problem& problem, std::span<const std::int64_t> rows);
  /// Before a query.
  void rewind() noexcept;

  [[nodiscard]] bool empty() const noexcept { return is_empty_; }
  /// Tasks that wait for a tensor which they do not read; by task, such tensors.
  [[nodiscard]] std::span<const Index> waiters_of(Index tensor) const noexcept {
    return is_empty_ ? std::span<const Index>{} : waiters_[tensor];
  }
  [[nodiscard]] std::span<const Index> inputs_of(Index task) const noexcept {
    return is_empty_ ? std::span<const Index>{} : inputs_[task];
  }

  /// Whether a copy that is wanted now has to wait; then it is kept.
  [[nodiscard]] bool keeps(Index tensor, Index memory, Index urgency) noexcept;
  /// Says that a tensor was made; `ask(tensor, memory, urgency)` is called for each copy that was
  /// kept for nothing but that.
  template <typename Ask>
  void made(Index tensor, Ask&& ask) {
    for (Copy& copy : copies_) {
      for (const Index elder : copy.elders)
        if (elder == tensor) --copy.unmade;
      if (copy.unmade > 0 || !copy.is_kept) continue;
      copy.is_kept = false;
      ask(copy.tensor, copy.memory, copy.urgency);
    }
  }

 private:
  struct Copy {
    Index tensor, memory;
    std::vector<Index> elders;
    std::size_t unmade = 0;
    bool is_kept = false;
    Index urgency = nobody;
  };

  [[nodiscard]] Copy* find(Index tensor, Index memory) noexcept;

  bool is_empty_ = true;
  IndexLists waiters_, inputs_;
  std::vector<Copy> copies_;
};

}  // namespace placement
