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

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] Key first() const noexcept {
    return by_moment_ ? keys_.front() : Key{0, ranks_.first()};
  }
  void clear() noexcept;
  void push(Key key) {
    ++count_;
    if (by_moment_)
      push_by_moment(key);
    else
      ranks_.insert(key.rank);
  }
  /// Takes out the first; the rank of it.
  Index pop() {
    --count_;
    return by_moment_ ? pop_by_moment() : ranks_.take_first();
  }
  void erase(Key key);
  /// The first `most` of them, in order; valid until the next call.
  [[nodiscard]] const std::vector<Key>& firsts(std::size_t most);

 private:
  void push_by_moment(Key key);
  Index pop_by_moment();

  bool by_moment_ = false;
  std::size_t count_ = 0;
  RankSet ranks_;
  std::vector<Key> keys_;
  std::vector<Key> firsts_;
};

}  // namespace placement
