// What of a query says where it goes.
#pragma once

#include <cstdint>
#include <string_view>

#include "isolation/query_link.hpp"

namespace engine::replicas {

/// Of a ModelInferRequest, read in place: its model, and a number of the sequence that it is of;
/// 0: of none. Empty where it is no such message.
struct QueryHead {
  std::string_view model;
  std::uint64_t sequence = 0;

  /// O(fields): tensors' bytes are passed over.
  [[nodiscard]] static QueryHead of(isolation::Bytes content) noexcept;
};

}  // namespace engine::replicas
