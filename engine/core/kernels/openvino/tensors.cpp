#include "kernels/openvino/tensors.hpp"

namespace engine::kernels::openvino {

OvShape shape_of(std::span<const std::int64_t> extents) {
  static std::int64_t none = 0;  // of a scalar; nobody writes it
  return {static_cast<std::int64_t>(extents.size()),
          extents.empty() ? &none : const_cast<std::int64_t*>(extents.data())};
}

Made contents(const Api& api, const OvTensor* tensor) {
  OvShape shape{};
  api.check(api.ov_tensor_get_shape(tensor, &shape), "to ask for a shape");
  Made made{{shape.dims, shape.dims + shape.rank}, nullptr, 0};
  static_cast<void>(api.ov_shape_free(&shape));
  api.check(api.ov_tensor_get_byte_size(tensor, &made.bytes), "to ask for a size");
  if (made.bytes == 0) return made;
  void* data = nullptr;
  api.check(api.ov_tensor_data(tensor, &data), "to ask for an address");
  made.data = data;
  return made;
}

}  // namespace engine::kernels::openvino
