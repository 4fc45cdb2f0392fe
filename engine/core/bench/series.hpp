// Repeated timings of one function.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "scheduler/clock.hpp"

namespace engine::bench {

/// Median time of `repeats` calls after one that is not counted.
template <typename Function>
[[nodiscard]] double median_ns(int repeats, Function&& function) {
  function();
  std::vector<std::int64_t> times_ns;
  for (int i = 0; i < repeats; ++i) {
    const std::int64_t start_ns = now_ns();
    function();
    times_ns.push_back(now_ns() - start_ns);
  }
  const auto middle = times_ns.begin() + repeats / 2;
  std::nth_element(times_ns.begin(), middle, times_ns.end());
  return static_cast<double>(*middle);
}

}  // namespace engine::bench
