// Nanoseconds, of which a sum of two always fits into 64 bits.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace placement {

using Ns = std::int64_t;

/// All times are below it; 146 years.
constexpr Ns end_of_times_ns = Ns{1} << 62;

[[noreturn]] inline void throw_too_late() {
  throw std::range_error("a time of the placement is 2^62 ns or more");
}

/// `ns` after a moment, both >= 0. Throws std::range_error if that is too late.
[[nodiscard]] inline Ns later(Ns moment_ns, Ns ns) {
  const Ns sum = moment_ns + ns;
  if (sum >= end_of_times_ns) throw_too_late();
  return sum;
}

/// Rounded half to even, as Python does; of a number >= 0. A double from 2^52 on is whole, and
/// adding that leaves no room for what is behind the point.
[[nodiscard]] inline double nearest_whole(double number) noexcept {
  constexpr double all_whole = 0x1p52;
  return number < all_whole ? (number + all_whole) - all_whole : number;
}

/// A duration that was computed, >= 0, without what is behind the point. Throws std::range_error if
/// it is too long, or none.
[[nodiscard]] inline Ns whole_ns(double ns) {
  if (!(ns < static_cast<double>(end_of_times_ns))) throw_too_late();
  return static_cast<Ns>(ns);
}

}  // namespace placement
