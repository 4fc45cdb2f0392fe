#include "kernels/openvino/unsized_output.hpp"

#include <algorithm>
#include <utility>

#include "kernels/openvino/mark.hpp"
#include "ort/types.hpp"

namespace engine::kernels::openvino {
namespace {

/// With `extent` in the place of those that the data decide.
std::vector<std::int64_t> with(std::span<const std::int64_t> extents, std::int64_t extent) {
  std::vector<std::int64_t> shape(extents.begin(), extents.end());
  std::ranges::replace(shape, any_extent, extent);
  return shape;
}

}  // namespace

std::optional<std::vector<std::int64_t>> marking_shape(std::span<const std::int64_t> extents,
                                                       int elem_type) {
  std::vector<std::int64_t> shape = with(extents, 1);
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  const auto open = std::ranges::find(extents, any_extent);
  if (open == extents.end() || count == 0) return std::nullopt;
  // One row where that is enough: a row may be large.
  std::int64_t& rows = shape[static_cast<std::size_t>(open - extents.begin())];
  while (ort::packed_bytes(elem_type, count * static_cast<std::size_t>(rows)) < sizeof(mark_bits))
    ++rows;
  return shape;
}

UnsizedOutput::UnsizedOutput(const Api& api, int type, std::span<const std::int64_t> extents,
                             std::vector<std::int64_t> marking)
    : api_(api),
      marking_(std::move(marking)),
      tensor_(made_by<OvTensor>(api, api.ov_tensor_free, "to make a tensor", api.ov_tensor_create,
                                type, shape_of(with(extents, 0)))) {}

void UnsizedOutput::mark() {
  api_.check(api_.ov_tensor_set_shape(tensor_.get(), shape_of(marking_)), "to resize a tensor");
  void* data = nullptr;
  api_.check(api_.ov_tensor_data(tensor_.get(), &data), "to ask for an address");
  put_mark(data, sizeof(mark_bits));
}

std::optional<Made> UnsizedOutput::made() const {
  Made made = contents(api_, tensor_.get());
  if (made.shape == marking_ && has_mark(made.data, made.bytes)) return std::nullopt;
  return made;
}

}  // namespace engine::kernels::openvino
