// What answers several queries of one kernel by a single call, seen from the scheduler.
#pragma once

#include <cstdint>
#include <span>

#include "devices/kernel.hpp"

namespace engine {

/// One query of several.
struct StackedQuery {
  std::span<const ValuePtr> inputs;
  std::span<ValuePtr> outputs;  ///< empty on entry
};

/// Puts queries on top of one another, and takes the answer apart again. Immutable; called from
/// many lanes at once.
class Stacker {
 public:
  virtual ~Stacker() = default;

  /// How many rows of a stack a query with these inputs (null where absent) has; 0: it cannot be
  /// stacked with others.
  [[nodiscard]] virtual std::uint32_t rows(std::span<const Value* const> inputs) const noexcept = 0;

  /// Executes the kernel once and fills every element of all outputs. The queries have rows. Throws
  /// std::exception when the kernel does, or makes what cannot be taken apart; outputs are then
  /// undefined.
  virtual void execute(const Kernel& kernel, std::span<const StackedQuery> queries,
                       CancelToken* token) const = 0;
};

}  // namespace engine
