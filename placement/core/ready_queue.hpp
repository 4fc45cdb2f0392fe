// Who is ready on a device, the most urgent first.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

#include "rank_set.hpp"
#include "times.hpp"

namespace placement {

/// A task's place in a queue: the moment at which it became ready (0 where only ranks count), and
/// its rank, of which each task has its own.
struct Key {
  Ns moment_ns;
  Index rank;
  friend auto operator<=>(const Key&, const Key&) = default;
};

/// By rank: a set of them. By moment: a heap. Not thread-safe.
class ReadyQueue {
 public:
  explicit ReadyQueue(Index task_count) : ranks_(task_count) {}

  /// By moment and rank, or by rank alone; of an empty queue.
  void order_by_moment(bool does) noexcept { by_moment_ = does; }

  [[nodiscard]] bool empty() const noexcept { return by_moment_ ? keys_.empty() : ranks_.empty(); }
  [[nodiscard]] Key first() const noexcept {
    return by_moment_ ? keys_.front() : Key{0, ranks_.first()};
  }
  void clear() noexcept;
  void push(Key key);
  void pop();
  void erase(Key key);
  /// The first `most` of them, in order; valid until the next call.
  [[nodiscard]] const std::vector<Key>& firsts(std::size_t most);

 private:
  bool by_moment_ = false;
  RankSet ranks_;
  std::vector<Key> keys_;
  std::vector<Key> firsts_;
};

}  // namespace placement
