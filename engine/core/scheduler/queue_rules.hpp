// How queries of one model wait before lanes get them: what its configuration says of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace engine {

/// Those of one level.
struct LevelRules {
  std::size_t most_waiting = 0;  ///< the next is turned away; 0: any number
  std::int64_t timeout_ns = 0;   ///< how long one may wait; 0: as long as it takes
  bool delays = false;  ///< who has waited so long goes behind the others, and is not ended
};

/// Of all queries of a model.
struct QueueRules {
  std::size_t calls = 0;        ///< that are computed at once; 0: as many as there are lanes
  std::uint32_t most_rows = 0;  ///< of a batch; 0: as many as gain
  std::vector<std::uint32_t> preferred_rows;  ///< a batch of so many is not held back
  std::int64_t delay_ns = 0;                  ///< how long one waits for others, at most
  std::size_t usual_level = 1;                ///< of who does not say any
  std::vector<LevelRules> levels{1};          ///< the most urgent first
};

}  // namespace engine
