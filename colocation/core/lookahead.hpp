// What starting a batch now does to the others that wait: as policies/surplus/lookahead.py.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "types.hpp"

namespace colocation {

/// A device: what is free, and what ends when with which share.
struct Bin {
  Count free_percent = 0;
  std::vector<std::pair<Ns, Count>> ends;
};

/// Plays orders of batches on devices. One thread; uses its memory again.
class Lookahead {
 public:
  /// Empty bins, to be filled; the ends in any order.
  [[nodiscard]] std::vector<Bin>& bins(std::size_t count);

  /// Which of the others has to go first such that all are in time, by the earliest deadline;
  /// nothing if `first` may, or all in time cannot be had.
  [[nodiscard]] std::optional<std::size_t> goes_before(const WaitingBatch& first,
                                                       std::span<const WaitingBatch> others,
                                                       Ns now_ns);

 private:
  /// Whether a batch of the order is late.
  [[nodiscard]] bool any_late(Ns now_ns);
  [[nodiscard]] static Ns earliest_ns(const Bin& bin, Count share, Ns now_ns);

  std::vector<Bin> bins_, played_;
  std::vector<WaitingBatch> order_;
};

}  // namespace colocation
