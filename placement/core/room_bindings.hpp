// What Python sees of a room, and how it says what constants take.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "room.hpp"

namespace placement {

/// Capacity by memory (negative: unlimited; empty: none is limited), own bytes by task, blobs by
/// task, bytes by blob.
using ConstantsTuple = std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>,
                                  std::vector<std::vector<Index>>, std::vector<std::int64_t>>;

inline Constants constants_of(ConstantsTuple rows) {
  auto& [capacity_bytes, own_bytes, blobs, blob_bytes] = rows;
  return {std::move(capacity_bytes), std::move(own_bytes), std::move(blobs), std::move(blob_bytes)};
}

/// Adds it to the module, which must have the evaluator already.
void bind_room(nanobind::module_& m);

}  // namespace placement
