// The times at which one lane is free, as a list schedule fills it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "times.hpp"

namespace placement {

/// A time in which a lane is free; never empty.
struct Gap {
  Ns begin_ns, end_ns;
};

/// Gaps of one lane, ascending; the last is open. They stand in chunks that know their longest gap,
/// so that a search costs about the root of their number: a lane of a wide graph has as many as
/// tasks. Not thread-safe.
class Gaps {
 public:
  /// All of time.
  Gaps();

  /// The earliest start at or after `ready_ns` of what takes so long.
  [[nodiscard]] Ns earliest_ns(Ns ready_ns, Ns service_ns) const;
  /// When the lane has run out of work.
  [[nodiscard]] Ns end_of_work_ns() const noexcept { return chunks_.back().gaps.back().begin_ns; }

  /// Fills a time; the gap that it lay in, or nothing if the lane is not free then.
  std::optional<Gap> take(Ns start_ns, Ns end_ns);
  /// Undoes a `take` that found `gap`, the last one first.
  void give_back(Gap gap, Ns start_ns, Ns end_ns);

 private:
  struct Chunk {
    std::vector<Gap> gaps;
    Ns longest_ns;  ///< or more
  };
  using Chunks = std::vector<Chunk>;

  void insert(Gap gap);
  void erase(Ns begin_ns);
  [[nodiscard]] Chunks::iterator chunk_from(Ns begin_ns);
  /// After a gap of a chunk was cut, taken out or put in, of this length.
  void changed(Chunks::iterator chunk, Ns length_ns);

  Chunks chunks_;
};

}  // namespace placement
