// Outputs of a session that are used again, run after run.
//
// Where shapes are known, ONNX Runtime may write into tensors that are there already. It then
// neither allocates nor frees them, which for segments of tiny operators with many outputs is an
// eighth of their time, and tensors do not wander between the heaps of the lanes.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "ort/session.hpp"
#include "ort/value.hpp"

namespace engine::ort {

/// Sets of tensors, one set for each run of the session that is in flight. Thread-safe.
class OutputPool {
 public:
  using Set = std::vector<std::shared_ptr<const OnnxValue>>;

  /// Pools nothing unless every output is a small tensor of known shape.
  explicit OutputPool(const std::vector<ValueInfo>& outputs);

  /// Fills `set` with tensors that nobody else holds; false where none may be pooled, or too many
  /// sets are in use. Whoever drops the last copy of a tensor thereby gives it back.
  [[nodiscard]] bool take(Set& set);

  /// Pools nothing from now on: a shape was not what the model declared.
  void close();

 private:
  struct Shape {
    int elem_type;
    std::vector<std::int64_t> extents;
  };

  [[nodiscard]] Set make() const;

  std::vector<Shape> shapes_;  // none: nothing is pooled
  std::mutex mutex_;           // held for nanoseconds, by the lanes that run this session
  std::vector<Set> sets_;
};

}  // namespace engine::ort
