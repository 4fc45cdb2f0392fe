// What a node of a plan executes, seen from the scheduler: values in, values out.
//
// The scheduler never looks inside a value and knows nothing of ONNX Runtime; the ort layer
// (ort_*.hpp) implements these interfaces, tests and micro-benchmarks implement trivial ones.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace engine {

/// An immutable value. Thread-safe: shared between runs, lanes and the caller.
class Value {
 public:
  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  virtual ~Value() = default;
  /// Bytes that a copy to another memory would move.
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  /// The same content in memory of its own; null where nobody else can change it as it is.
  [[nodiscard]] virtual std::shared_ptr<const Value> copied() const { return nullptr; }
};

using ValuePtr = std::shared_ptr<const Value>;

/// Stops kernels in the middle of their work. One per pooled run; used by several lanes at once.
class CancelToken {
 public:
  virtual ~CancelToken() = default;
  /// Thread-safe, may be called while kernels run and more than once.
  virtual void cancel() noexcept = 0;
  /// Makes the token usable for the next run; no kernel of the old run is running then.
  virtual void reset() noexcept = 0;
  /// Whether cancel() was called since the last reset. Thread-safe, for kernels that ask.
  [[nodiscard]] virtual bool is_cancelled() const noexcept = 0;
};

/// The work of one node. Immutable after construction; execute() is called from many lanes at
/// once and blocks until the work is done.
class Kernel {
 public:
  virtual ~Kernel() = default;

  /// Reads `inputs` (null where an optional input is absent) and fills every element of
  /// `outputs` (empty on entry). `token` may be null. Throws std::exception when it fails.
  virtual void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
                       CancelToken* token) const = 0;
};

}  // namespace engine
