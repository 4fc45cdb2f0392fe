#include "ort/stacker.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine {
namespace {

using Shape = std::vector<std::int64_t>;

const ort::OnnxValue& tensor_of(const ValuePtr& value) {
  return static_cast<const ort::OnnxValue&>(*value);
}

std::byte* bytes_of(const ort::OnnxValue& tensor) { return static_cast<std::byte*>(tensor.data()); }

Shape with_rows(std::uint32_t rows, std::span<const std::int64_t> extents) {
  Shape shape{rows};
  shape.insert(shape.end(), extents.begin(), extents.end());
  return shape;
}

class OrtStacker final : public Stacker {
 public:
  explicit OrtStacker(std::vector<StackedInput> inputs) : inputs_(std::move(inputs)) {
    if (inputs_.empty()) throw std::invalid_argument("queries without inputs are not stacked");
    for (const StackedInput& input : inputs_)
      if (ort::element_bits(input.elem_type) < 8)
        throw std::invalid_argument("values of element type " + std::to_string(input.elem_type) +
                                    " are not stacked");
  }

  [[nodiscard]] std::uint32_t rows(std::span<const Value* const> inputs) const noexcept override {
    try {
      std::int64_t rows = 0;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::int64_t found = inputs[i] == nullptr ? 0 : rows_of(*inputs[i], inputs_[i]);
        if (found == 0 || (rows != 0 && rows != found)) return 0;
        rows = found;
      }
      return static_cast<std::uint32_t>(rows);
    } catch (const std::exception&) {
      return 0;  // whoever runs it alone says what is wrong with it
    }
  }

  void execute(const Kernel& kernel, std::span<const StackedQuery> queries,
               CancelToken* token) const override {
    std::vector<std::uint32_t> rows;
    std::uint32_t total = 0;
    for (const StackedQuery& query : queries) {
      rows.push_back(static_cast<std::uint32_t>(tensor_of(query.inputs[0]).shape()[0]));
      total += rows.back();
    }
    std::vector<ValuePtr> inputs, outputs(queries[0].outputs.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(stacked(queries, i, total));
    kernel.execute(inputs, outputs, token);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      take_apart(tensor_of(outputs[i]), queries, i, rows, total);
  }

 private:
  /// 0: it is not what is stacked.
  static std::int64_t rows_of(const Value& value, const StackedInput& wanted) {
    const auto& tensor = static_cast<const ort::OnnxValue&>(value);
    if (tensor.kind() != ort::ValueKind::kTensor || tensor.elem_type() != wanted.elem_type)
      return 0;
    const Shape shape = tensor.shape();
    const bool fits = shape.size() == wanted.extents.size() + 1 &&
                      std::equal(shape.begin() + 1, shape.end(), wanted.extents.begin());
    const bool counts = fits && shape[0] > 0 && shape[0] <= std::numeric_limits<int>::max();
    return counts ? shape[0] : 0;
  }

  [[nodiscard]] ValuePtr stacked(std::span<const StackedQuery> queries, std::size_t input,
                                 std::uint32_t rows) const {
    const StackedInput& wanted = inputs_[input];
    auto all = ort::make_tensor(wanted.elem_type, with_rows(rows, wanted.extents));
    std::byte* next = bytes_of(*all);
    for (const StackedQuery& query : queries) {
      const ort::OnnxValue& one = tensor_of(query.inputs[input]);
      if (one.bytes() > 0) std::memcpy(next, one.data(), one.bytes());
      next += one.bytes();
    }
    return all;
  }

  /// Each query gets memory of its own: what one caller keeps does not keep the others' answers.
  static void take_apart(const ort::OnnxValue& all, std::span<const StackedQuery> queries,
                         std::size_t output, std::span<const std::uint32_t> rows,
                         std::uint32_t total) {
    const bool is_tensor = all.kind() == ort::ValueKind::kTensor;
    const Shape shape = is_tensor ? all.shape() : Shape{};
    if (shape.empty() || shape[0] != total || ort::element_bits(all.elem_type()) < 8)
      throw std::runtime_error("output " + std::to_string(output) + " has other rows than " +
                               std::to_string(total) + " stacked ones");
    const std::byte* next = bytes_of(all);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      auto one = ort::make_tensor(all.elem_type(), with_rows(rows[i], std::span(shape).subspan(1)));
      if (one->bytes() > 0) std::memcpy(bytes_of(*one), next, one->bytes());
      next += one->bytes();
      queries[i].outputs[output] = std::move(one);
    }
  }

  const std::vector<StackedInput> inputs_;
};

}  // namespace

std::shared_ptr<const Stacker> make_ort_stacker(std::vector<StackedInput> inputs) {
  return std::make_shared<OrtStacker>(std::move(inputs));
}

}  // namespace engine
