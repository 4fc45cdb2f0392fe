#include "prices.hpp"

#include <algorithm>
#include <numeric>

namespace colocation {

Price price_of(std::span<const double> counts, std::span<const double> works,
               std::span<const double> values, double capacity, std::vector<std::size_t>& order) {
  order.resize(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double own = works[a] / values[a], other = works[b] / values[b];
    return own < other || (own == other && a < b);
  });
  double left = capacity, total = 0.0;
  for (const std::size_t k : order) {
    const double need = counts[k] * works[k];
    if (need > left) {
      const double per_work = values[k] / works[k];
      return {per_work, total + left * per_work};
    }
    left -= need;
    total += counts[k] * values[k];
  }
  return {0.0, total};
}

}  // namespace colocation
