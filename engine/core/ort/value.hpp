// Values of plans and sessions: ONNX Runtime's tensors, sequences, maps and absent optionals.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/kernel.hpp"
#include "ort/runtime.hpp"

namespace engine::ort {

/// Keeps memory of somebody else alive as long as a tensor lies over it. Its deleter runs on
/// whatever thread drops the last reference to the tensor, so it must not block.
using Owner = std::unique_ptr<void, void (*)(void*)>;

enum class ValueKind { kTensor, kSequence, kMap, kOptionalNone };

/// What a tensor's elements are, and how many along each axis.
struct TensorType {
  int elem_type;
  std::vector<std::int64_t> shape;
};

/// The one implementation of Value in plans. Immutable, hence thread-safe; all accessors read
/// from the OrtValue each time, so that wrapping an output costs no more than one allocation.
class OnnxValue final : public Value {
 public:
  /// A null handle is an absent optional: what ONNX Runtime returns for one must not be passed
  /// to a session again (it would be read as a tensor without an address).
  explicit OnnxValue(Handle<OrtValue> value) noexcept : value_(std::move(value)) {}
  /// Somebody who knows the size saves asking for it.
  OnnxValue(Handle<OrtValue> value, std::size_t bytes) noexcept
      : value_(std::move(value)), bytes_(bytes) {}

  /// Parts of sequences counted, of more than 64 as many as these tell, of a sequence of maps the
  /// first for all: each would be copied.
  /// Asked for once: it costs more than a small operator.
  [[nodiscard]] std::size_t bytes() const noexcept override;
  /// Of tensors of fixed-size elements: strings are never foreign, and parts of sequences are
  /// copied when they are read.
  [[nodiscard]] std::shared_ptr<const Value> copied() const override;
  [[nodiscard]] OrtValue* get() const noexcept { return value_.get(); }

  [[nodiscard]] ValueKind kind() const;
  /// ONNX's element type of a tensor; throws for other kinds.
  [[nodiscard]] int elem_type() const;
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  /// Both, for half of what asking twice takes.
  [[nodiscard]] TensorType tensor_type() const;
  /// First byte of a tensor of fixed-size elements.
  [[nodiscard]] void* data() const;
  /// Calls `take(std::string_view)` with each string of a tensor; the view holds for the call.
  template <typename Take>
  void for_each_string(Take&& take) const {
    const Strings all = all_strings();
    for (std::size_t i = 0; i + 1 < all.offsets.size(); ++i)
      take(std::string_view(all.content)
               .substr(all.offsets[i], all.offsets[i + 1] - all.offsets[i]));
  }
  /// Elements of a tensor.
  [[nodiscard]] std::size_t count() const;
  /// Parts of a sequence or map; see part().
  [[nodiscard]] std::size_t part_count() const;
  /// As items()[index], without the others. Parts of maps are copies, so are maps of a sequence.
  [[nodiscard]] OnnxValue part(std::size_t index) const;
  /// Elements of a sequence; of a map the tensor of its keys, then the tensor of its values.
  [[nodiscard]] std::vector<ValuePtr> items() const;

 private:
  static constexpr std::size_t kNotAsked = ~std::size_t{0};

  /// The bytes of all strings, and where each begins; the last offset is their end.
  struct Strings {
    std::string content;
    std::vector<std::size_t> offsets;
  };

  [[nodiscard]] Strings all_strings() const;
  [[nodiscard]] std::size_t count_bytes() const noexcept;
  [[nodiscard]] std::size_t sequence_bytes() const;

  Handle<OrtValue> value_;
  mutable std::atomic<std::size_t> bytes_{kNotAsked};
};

/// A tensor over `bytes` at `data`, without a copy. The tensor itself holds the owner, since
/// outputs of a session may share the memory of its inputs (Optional, sequences, pass-through).
/// Throws std::invalid_argument when the bytes do not fit the shape.
[[nodiscard]] ValuePtr wrap_tensor(void* data, std::size_t bytes, int elem_type,
                                   std::span<const std::int64_t> shape, Owner owner);

/// A tensor of strings (UTF-8), copied.
[[nodiscard]] ValuePtr make_strings(std::span<const std::string_view> strings,
                                    std::span<const std::int64_t> shape);

/// A sequence that shares its elements' memory where ONNX Runtime allows it. Not empty: see
/// make_empty_sequence. Throws std::invalid_argument for None among the items.
[[nodiscard]] ValuePtr make_sequence(std::span<const ValuePtr> items);

/// An empty sequence of tensors. Made by a model of one operator, since the C API cannot; costs
/// a session at the first call with a type, which then keeps it.
[[nodiscard]] ValuePtr make_empty_sequence(int elem_type);

/// The parts of a sequence of tensors as one tensor with an axis more, copied at once; null unless
/// all have the same sizes, none of them 0, and an axis. Costs a session at the first call with a
/// type. The session's runs are the cost of a few parts one by one.
[[nodiscard]] std::shared_ptr<const OnnxValue> stack_parts(const OnnxValue& sequence,
                                                           int elem_type);

/// A tensor of undefined contents, for an output whose shape is known beforehand.
[[nodiscard]] std::shared_ptr<const OnnxValue> make_tensor(int elem_type,
                                                           std::span<const std::int64_t> shape);

/// Takes ownership of an output. `optional`: its type may be one that holds nothing.
[[nodiscard]] ValuePtr wrap_output(OrtValue* value, bool optional);

/// The OrtValue behind a value of ours; null for null and for absent optionals, which sessions
/// want left out of their inputs.
[[nodiscard]] inline const OrtValue* unwrap(const ValuePtr& value) noexcept {
  return value ? static_cast<const OnnxValue&>(*value).get() : nullptr;
}

}  // namespace engine::ort
