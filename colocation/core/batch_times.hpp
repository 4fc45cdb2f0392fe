// Times of batches, by bisection where queries are alike: as policies/surplus/batch_times.py.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "known_times.hpp"
#include "queue.hpp"
#include "types.hpp"

namespace colocation {

/// Service, items, sequence, share -> predicted time; asked once for each four.
using Alone = std::function<Ns(Count, Count, Count, Count)>;

/// The longest prefix of a queue that fits into a time, and what it takes.
struct FittingBatch {
  Count size = 0;
  Ns took_ns = 0;
};

/// How many of some times are at most a limit, found as Python's bisect_right does: times of
/// queries that are not alike may fall, and then it matters which of them are looked at.
[[nodiscard]] Count bisect_right(std::span<const Ns> times, double limit_ns);

/// One thread. What Alone throws passes through; nothing is remembered of it.
class BatchTimes {
 public:
  explicit BatchTimes(Alone alone) : alone_(std::move(alone)) {}

  /// items > 0.
  [[nodiscard]] Ns alone_ns(Count service, Count items, Count sequence, Count share);
  /// Times of 1, 2, ... queries of so many items each, never falling; at least as many as fit into
  /// most_items. Valid until the next call of it.
  [[nodiscard]] std::span<const Ns> row(Count service, Count items, Count sequence, Count share,
                                        Count most_items);
  /// The queue is not empty; `head` is its first query. Asked the same again of the queue as it is,
  /// it says the same at once.
  [[nodiscard]] FittingBatch longest(Count service, const Queue& queue, const Waiter& head,
                                     Count most_items, Count share, double limit_ns);
  /// Times of the first 1, 2, ... together of at most `count` queries from place `first` on, up to
  /// the largest batch.
  void prefixes_of(Count service, const Queue& queue, Count first, Count count, Count most_items,
                   Count share, std::vector<Ns>& times);

 private:
  struct Fit {
    std::uint64_t version = 0;
    Count most_items = 0;
    double limit_ns = 0.0;
    FittingBatch fitting;
  };

  [[nodiscard]] FittingBatch alike(Count service, const Queue& queue, const Waiter& head,
                                   Count most_items, Count share, double limit_ns);
  [[nodiscard]] FittingBatch unlike(Count service, const Queue& queue, Count most_items,
                                    Count share, double limit_ns);

  /// What is known of batches of one sequence length on a share, by items; 0 where nothing is.
  /// Valid as long as this.
  [[nodiscard]] std::vector<Ns>& known(Count service, Count sequence, Count share);
  [[nodiscard]] Ns alone_ns(std::vector<Ns>& known, Count service, Count items, Count sequence,
                            Count share);

  const Alone alone_;
  KnownTimes known_, rows_;
  /// Those found last, by service and share.
  std::vector<Fit> fits_;
};

}  // namespace colocation
