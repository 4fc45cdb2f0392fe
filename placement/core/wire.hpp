// A link: copies one after another, through a bounded staging pool; as placement/wire.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "streams.hpp"

namespace placement {

/// A copy that is wanted; the most urgent of a moment is the least.
struct Asked {
  /// Of an output that nobody reads there.
  static constexpr Index last = std::numeric_limits<Index>::max();

  Index urgency;  ///< rank of its first reader
  Index tensor;
  Ns ready_ns;
  friend bool operator<(const Asked& a, const Asked& b) noexcept {
    return std::tie(a.urgency, a.tensor) < std::tie(b.urgency, b.tensor);
  }
};

/// When a copy takes its link, and when its data is there.
struct Held {
  Ns start_ns, end_ns;
};

/// One link during a query.
class Wire {
 public:
  Wire(const Problem& problem, Index link) : problem_(&problem), link_(&problem.link(link)) {}

  /// Before a query. `thread`: the device whose submitting thread pageable copies hold, if any.
  void reset(Streams* thread) noexcept;
  /// Between two moments.
  void save(LinkMoment& moment, Ns now_ns) const;
  void restore(const LinkMoment& moment, Ns now_ns);
  void ask(const Asked& asked) { asked_.push_back(asked); }
  /// The next copy that may start now, taken out; none if there is none.
  [[nodiscard]] std::optional<Asked> take_next();
  /// Holds the link for a copy.
  [[nodiscard]] Held start(std::int64_t size_bytes, Ns now_ns);
  /// A copy's data is there; whether another waited for its part of the pool.
  [[nodiscard]] bool arrive(std::int64_t size_bytes) noexcept;

 private:
  /// How much of the pool a copy holds until its data is there.
  [[nodiscard]] std::int64_t staged(std::int64_t size_bytes) const noexcept;

  const Problem* problem_;
  const Link* link_;
  Streams* thread_ = nullptr;
  Ns free_at_ns_ = 0;
  std::int64_t staged_bytes_ = 0;
  std::vector<Asked> asked_;    // at this moment
  std::vector<Asked> waiting_;  // in the order of their turn
  std::size_t taken_ = 0;       // of those that wait
};

}  // namespace placement
