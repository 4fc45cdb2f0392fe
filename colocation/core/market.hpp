// What choices are weighed with: what was learnt, what queries are worth, what time costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "types.hpp"

namespace colocation {

/// As PricedParams; `costs` are those of shares, by percent.
struct Params {
  double patience = 2.0;
  double fill = 0.0;
  double thrift = 0.0;
  double blocking = 1.0;
  bool together = false;
  bool skip = true;
  /// Part of the queries given up from which on a service regroups; 1 for never.
  double regroups_above = 1.0;
  bool reserve = true;
  bool look_ahead = true;
  std::vector<double> costs;
};

/// How long a query of a service can wait for a device, and the least share that it needs.
struct Patience {
  double wait_ns = 0.0;
  Count service = 0;
  Count share_percent = 0;
};

/// By service where they are lists; who learns and prices sets them.
struct Market {
  explicit Market(std::vector<double> of_queries)
      : values(std::move(of_queries)),
        means(values.size(), 1.0),
        bounds(values.size(), 1.0),
        works(values.size(), 1.0),
        given_up(values.size(), 0.0),
        per_ns(values.size(), 0.0) {}

  std::vector<double> values;
  /// What predictions are multiplied by, for the mean and for the quantile.
  std::vector<double> means, bounds;
  /// Percent times ns that a query holds in a good batch.
  std::vector<double> works;
  /// Part of the queries that were given up of late.
  std::vector<double> given_up;
  /// Arrivals a nanosecond.
  std::vector<double> per_ns;
  /// The longest wait last.
  std::vector<Patience> patiences;
  Count slots = 1;
  double per_work = 0.0;
  /// Of batches that started of late; 0 before the first.
  double mean_ns = 0.0;

  /// The price of time for a service that gives queries up: its own others want it, too.
  [[nodiscard]] double pressed_per_work(std::size_t service) const {
    return std::max(per_work, given_up[service] * (values[service] / works[service]));
  }
  /// What a query is worth above a price of what it holds.
  [[nodiscard]] double profit(std::size_t service, double price) const {
    return std::max(0.0, values[service] - price * works[service]);
  }
};

}  // namespace colocation
