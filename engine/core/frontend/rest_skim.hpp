// What of a query over REST is looked at where it is passed on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "frontend/proto.hpp"
#include "frontend/rest.hpp"

namespace engine::frontend {

/// A document of more is left to Python: to look through it takes this thread milliseconds.
inline constexpr std::size_t most_skimmed_bytes = 4U << 20;

/// Where a query goes and until when; views into the body.
struct RestSkim {
  std::string_view id;
  std::int64_t timeout_us = 0;  ///< 0: none
  std::uint64_t sequence = 0;   ///< as QueryHead has it; 0: it is of none
};

/// Looks through a document: its tensors are passed over, and whether they make sense is for
/// whoever reads them. Nothing where that is left to Python: what is packed, has escapes, or
/// tensors in shared memory, which is another process's than the one that is asked.
[[nodiscard]] std::optional<RestSkim> skimmed(const Rest& rest, Bytes body);

}  // namespace engine::frontend
