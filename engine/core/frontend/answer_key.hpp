// What two queries have in common that have the same answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/proto.hpp"

namespace engine::frontend {

/// A tensor of a query or of an answer; views.
struct TensorView {
  std::string_view name, datatype;  ///< the protocol's
  std::vector<std::int64_t> shape;
  Bytes content;  ///< raw, as the protocol has it
};

/// All that an answer depends on, whole: that two keys have the same hash decides nothing.
struct AnswerKey {
  std::uint64_t load = 0;  ///< of the model that answers: another one each time it is loaded
  std::uint64_t hash = 0;  ///< where it is looked for
  std::string head;        ///< which outputs; the inputs' names, datatypes, shapes and lengths
  std::vector<Bytes> contents = {};  ///< of the inputs; the memory is its maker's

  [[nodiscard]] std::size_t bytes() const noexcept;
  /// Head and contents.
  [[nodiscard]] std::string text() const;
  /// Whether text() is that. Reads all that there is, as making it does.
  [[nodiscard]] bool is(std::string_view text) const noexcept;
};

/// The key of a query, in whatever order its inputs and outputs are.
[[nodiscard]] AnswerKey key_of(std::uint64_t load, std::vector<TensorView> inputs,
                               std::vector<std::string_view> outputs);

}  // namespace engine::frontend
