// Where each task may be in a plan that is short enough.
#pragma once

#include <span>
#include <vector>

#include "problem.hpp"

namespace placement {

/// The places of each task on which it lies on no path that alone is too long, each other task
/// taken where it is fastest and no copy counted. Never changes.
class Candidates {
 public:
  Candidates(const Problem& problem, Ns most_ns);

  [[nodiscard]] std::span<const Index> devices(Index task) const noexcept { return devices_[task]; }
  [[nodiscard]] bool allows(Index task, Index device) const noexcept;
  /// Tasks with several places.
  [[nodiscard]] const std::vector<Index>& movable() const noexcept { return movable_; }

 private:
  IndexLists devices_;
  std::vector<Index> movable_;
};

}  // namespace placement
