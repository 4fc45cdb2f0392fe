// Which run of a queue is worth most: as policies/surplus/windows.py.
#pragma once

#include <optional>
#include <vector>

#include "batch_times.hpp"
#include "queue.hpp"
#include "types.hpp"

namespace colocation {

/// Queries `skipped <= k < skipped + size` of a queue, and when the first of them is due.
struct QueueWindow {
  Count skipped = 0;
  Count size = 0;
  Ns took_ns = 0;
  Ns deadline_ns = 0;
};

/// Value of a query that is answered, what one that is given up would bring above its price, and
/// the price of the share for a nanosecond.
struct Worth {
  double value = 0.0;
  double profit = 0.0;
  double per_ns = 0.0;
};

/// Of the value of a query that is given up: it might have been served after all.
inline constexpr double kLeastLost = 0.03;

/// A service on a share, and how its queue's times are found.
struct WindowSearch {
  BatchTimes& times;
  Count service;
  const Queue& queue;
  Count share_percent;
  Count most_items;
  /// Queries of a batch, at most.
  Count most;
  double slowness;
  Ns now_ns;
};

/// The window with the largest value less price; nothing if none is in time. `row` are the times
/// where queries are alike; else it is used for others.
[[nodiscard]] std::optional<QueueWindow> best_window(const WindowSearch& of, const Worth& worth,
                                                     std::vector<Ns>& row);

}  // namespace colocation
