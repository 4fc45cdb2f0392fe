// A ModelInferRequest of the Open Inference Protocol, read in place.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "files/json_numbers.hpp"
#include "frontend/proto.hpp"

namespace engine::frontend {

/// As engine/shapes.py, whose error others give.
inline constexpr std::size_t most_dimensions = 32;
inline constexpr std::size_t most_tensors = 4096;

/// Where in shared memory a tensor lies, or is to lie.
struct TensorPart {
  std::string_view region;  ///< empty: it does not
  std::uint64_t offset = 0, bytes = 0;
};

/// An input of it; views into the message.
struct GivenInput {
  std::string_view name, datatype;
  std::vector<std::int64_t> shape;
  Bytes contents;  ///< the message of its typed contents, if `is_typed`
  bool is_typed = false;
  std::optional<JsonNumbers> numbers;  ///< of REST: its values, if they are in the document
  TensorPart part;
};

struct WantedOutput {
  std::string_view name;
  TensorPart part;
  std::optional<bool> as_bytes;  ///< over REST, if it says so
};

/// What is plain of the protocol: tensors raw, typed or in shared memory, a subset of outputs,
/// timeout and priority. Anything else is left to who knows all of it, as is saying what is wrong.
/// Over REST (rest_request.hpp) it is the same.
struct InferRequest {
  std::string_view model, version, id;
  std::vector<GivenInput> inputs;
  std::vector<WantedOutput> outputs;  ///< those asked for; none: all
  std::vector<Bytes> raw;             ///< of the inputs that are not in shared memory
  std::int64_t timeout_us = 0;        ///< 0: none
  std::int64_t priority = 0;          ///< as the protocol counts it
  bool as_bytes = true;               ///< how outputs are wanted that say nothing

  /// Forgets what it holds.
  void clear() noexcept;
  /// Reads one; false where it is not plain. Reuses what this held.
  [[nodiscard]] bool read(Bytes message);
};

/// Whether it is nowhere, or somewhere where there is room.
[[nodiscard]] bool is_whole(const TensorPart& part) noexcept;

/// Where the first raw content of a request begins, as far as its first bytes are known; 0 if that
/// cannot be told.
[[nodiscard]] std::size_t raw_offset(Bytes beginning) noexcept;

}  // namespace engine::frontend
