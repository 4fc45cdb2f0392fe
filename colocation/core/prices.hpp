// What a device's time is worth: as policies/surplus/prices.py, which says why.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace colocation {

/// Value of a percent times ns, 0 where all can be served; and of the optimum.
struct Price {
  double per_work = 0.0;
  double most = 0.0;
};

/// By service: queries, percent times ns of one, value of one; lists of one length. `order` is
/// memory that is used again.
[[nodiscard]] Price price_of(std::span<const double> counts, std::span<const double> works,
                             std::span<const double> values, double capacity,
                             std::vector<std::size_t>& order);

}  // namespace colocation
