#include "ort/cuda.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

#include "devices/cuda/host_kernel.hpp"
#include "files/onnx_float32.hpp"
#include "ort/cuda_kernel.hpp"
#include "ort/shared_cublas.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine {

namespace {

class OrtCudaBackend final : public cuda::Backend {
 public:
  OrtCudaBackend(int ordinal, bool allows_tf32, CudaProviders providers)
      : ordinal_(ordinal), allows_tf32_(allows_tf32), providers_(std::move(providers)) {}

  [[nodiscard]] HostTensor read(const Value& host) const override {
    const auto& value = static_cast<const ort::OnnxValue&>(host);
    if (value.kind() != ort::ValueKind::kTensor || ort::element_bits(value.elem_type()) == 0)
      throw std::runtime_error(
          "only tensors of numbers have a place in a GPU's memory, not strings, sequences, maps "
          "and absent optionals");
    return {value.data(),
            {.bytes = value.bytes(), .elem_type = value.elem_type(), .shape = value.shape()}};
  }

  [[nodiscard]] ValuePtr make_host(cuda::Memory memory,
                                   const cuda::TensorInfo& info) const override {
    void* const data = memory.get();
    ort::Owner owner(new cuda::Memory(std::move(memory)),
                     [](void* held) { delete static_cast<cuda::Memory*>(held); });
    return ort::wrap_tensor(data, info.bytes, info.elem_type, info.shape, std::move(owner));
  }

  [[nodiscard]] std::shared_ptr<const cuda::CudaKernel> adapt(
      std::shared_ptr<const Kernel> kernel, const cuda::DeviceParts& device) const override {
    auto source = std::dynamic_pointer_cast<const ort::SessionSource>(kernel);
    if (source == nullptr) return std::make_shared<cuda::HostKernel>(std::move(kernel), *this);
    auto& allocator = ort::CudaAllocator::of(ordinal_);
    if (!weights_) weights_.emplace(allocator.info());
    const ort::SessionParams& params = source->params();
    const CudaProviders providers = providers_.with(params.gpu_provider);
    const std::string text = params.is_bytes ? std::string() : ort::read_all(params.model);
    const std::string_view content = params.is_bytes ? std::string_view(params.model) : text;
    auto weights = weights_->of(params, content, device);
    const bool uses_tf32 = allows_tf32_ || !multiplies_float32(content);
    return std::make_shared<ort::CudaSessionKernel>(
        ort::CudaSegment{std::move(source), allocator, ordinal_, std::move(weights), uses_tf32,
                         providers},
        device);
  }

  void forget(cuda::StreamHandle lane) const override { ort::SharedCublas::forget(lane); }

 private:
  const int ordinal_;
  const bool allows_tf32_;
  const CudaProviders providers_;
  mutable std::optional<ort::CudaWeights> weights_;  ///< the submitting thread's own
};

}  // namespace

std::shared_ptr<const cuda::Backend> make_ort_cuda_backend(int ordinal, bool allows_tf32,
                                                           CudaProviders providers) {
  return std::make_shared<const OrtCudaBackend>(ordinal, allows_tf32, std::move(providers));
}

}  // namespace engine
