// Shared libraries of compiled segments.
#pragma once

#include <string>

#include "../include/surplus_segment.h"

namespace engine {

/// A segment of any version that we take; one without a state has null functions for it.
struct CompiledSegment {
  const SurplusSegment& segment;  ///< up to `run` at least
  decltype(SurplusSegment::create) create = nullptr;
  decltype(SurplusSegment::destroy) destroy = nullptr;
};

/// The segment that a library exports under a name. A library is opened once and stays open until
/// the process ends, as do its functions.
///
/// Thread-safe. Runs the library's constructors the first time. Throws std::runtime_error naming
/// path and symbol when there is no such library or symbol, or it is no segment of our version.
[[nodiscard]] CompiledSegment find_compiled_segment(const std::string& library_path,
                                                    const std::string& symbol);

}  // namespace engine
