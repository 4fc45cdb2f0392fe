// Parts of a query that run one after another, whatever the placement.
#pragma once

#include <vector>

#include "evaluator.hpp"

namespace placement {

/// Where all that comes before a task has to end for it, and all that comes after has to wait for
/// it, the query falls into two parts: what is done in one hardly touches the other (copies of
/// outputs that are still on their way do).
struct Parts {
  explicit Parts(const Problem& problem);

  [[nodiscard]] Index count() const noexcept { return static_cast<Index>(closing.size()) + 1; }
  /// Whether the task ends its part, so that the next one depends on it, too.
  [[nodiscard]] bool closes(Index task) const noexcept;

  std::vector<Index> part_of;  ///< by task
  std::vector<Index> closing;  ///< the last task of each part but the last
};

/// How long each part takes: from the end of the one before to its own; together the makespan.
[[nodiscard]] std::vector<Ns> lengths_ns(const Parts& parts, const Schedule& schedule,
                                         Ns makespan_ns);

}  // namespace placement
