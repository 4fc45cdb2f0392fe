// A node of a run whose inputs are there.
#pragma once

#include <cstdint>

namespace engine {

class Run;

struct Task {
  Run* run = nullptr;
  std::uint32_t node = 0;
  std::int64_t ready_ns = 0;  ///< stamped for devices with a clock of their own, else 0
};

}  // namespace engine
