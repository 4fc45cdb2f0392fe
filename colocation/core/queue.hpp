// The waiting queries of one service, whoever keeps them.
#pragma once

#include <cstdint>

#include "types.hpp"

namespace colocation {

/// A waiting query, as far as choices look at it.
struct Waiter {
  Ns arrival_ns = 0;
  Ns deadline_ns = 0;
  Count items = 0;
  Count sequence = 0;
  /// Of it and all before it: their items, and the longest sequence.
  Count items_together = 0;
  Count longest_sequence = 0;
};

/// Most urgent first; holds still while a choice is made.
class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  virtual ~Queue() = default;

  [[nodiscard]] virtual Count size() const = 0;
  /// Whether all queries so far had the same items and sequence length.
  [[nodiscard]] virtual bool alike() const = 0;
  /// A number that no other queue has, nor this one if it held something else.
  [[nodiscard]] virtual std::uint64_t version() const = 0;
  /// 0 <= place < size(); valid until the next call.
  [[nodiscard]] virtual const Waiter& at(Count place) const = 0;
};

/// The queues of all services.
class Queues {
 public:
  Queues() = default;
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
  virtual ~Queues() = default;

  /// Valid until it changes.
  [[nodiscard]] virtual const Queue& of(Count service) = 0;
};

}  // namespace colocation
