// What the runs of a plan are refused for, and what they are promised.
#pragma once

#include <cstdint>

namespace engine {

/// That a run is to be in time: surely, or as far as is expected (ErrorMargins).
enum class Promise : std::uint8_t { none, chance, sure };

struct AdmissionRules {
  bool refuses_late = false;     ///< that they cannot be in time; else they are answered late
  std::int64_t max_wait_ns = 0;  ///< that they are not due and would wait for longer; 0: never

  [[nodiscard]] bool any() const noexcept { return refuses_late || max_wait_ns != 0; }
};

}  // namespace engine
