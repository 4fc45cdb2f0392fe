#include "ort/cuda_session.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <utility>

#include "ort/cuda_providers.hpp"
#include "ort/shared_cublas.hpp"
#include "ort/types.hpp"

namespace engine::ort {

namespace {

Handle<OrtRunOptions> run_options(bool drains) {
  auto options = create<OrtRunOptions>(api().create_run_options);
  check(api().add_run_config_entry(options.get(), "disable_synchronize_execution_providers",
                                   drains ? "0" : "1"));
  return options;
}

/// Only CUDA itself knows whether the device goes on after a failure.
void throw_if_lost(const cuda::Launch& launch, const std::string& why) {
  const int code = launch.api().stream_query.code(launch.stream());
  if (cuda::severity_of(code) != cuda::Severity::fatal) return;
  const cuda::Error error = launch.api().library().error(code, "ONNX Runtime");
  throw cuda::Error(code, std::string(error.what()) + ": " + why);
}

std::optional<cuda::TensorInfo> fixed_info(const ValueInfo& info) {
  const std::size_t bits = element_bits(info.elem_type);
  if (info.kind != "tensor" || bits == 0)
    throw std::runtime_error("'" + info.name +
                             "' is not a tensor of numbers: it has no place in a GPU's memory");
  if (!info.shape) return std::nullopt;
  cuda::TensorInfo fixed{.elem_type = info.elem_type};
  std::size_t count = 1;
  for (const ValueInfo::Dimension& dimension : *info.shape) {
    if (dimension.extent < 0) return std::nullopt;
    count *= static_cast<std::size_t>(dimension.extent);
    fixed.shape.push_back(dimension.extent);
  }
  fixed.bytes = packed_bytes(info.elem_type, count);
  return fixed;
}

}  // namespace

std::size_t workspace_bytes(std::string_view config) noexcept {
  std::size_t total = 0;
  while (!config.empty()) {
    std::array<std::size_t, 2> pair{};
    for (std::size_t& number : pair) {
      if (config.empty() || config.front() != ':') return 0;
      config.remove_prefix(1);
      const auto [end, error] =
          std::from_chars(config.data(), config.data() + config.size(), number);
      if (error != std::errc()) return 0;
      config.remove_prefix(static_cast<std::size_t>(end - config.data()));
    }
    total += pair[0] * pair[1] << 10;
  }
  return total;
}

std::shared_ptr<const void> count_workspace(cuda::DevicePool& memory, std::uint32_t lane) {
  const char* const config = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  const std::size_t bytes = config == nullptr ? 0 : workspace_bytes(config);
  return shares_cublas() ? memory.count_shared(lane, bytes) : memory.count_outside(bytes);
}

CudaSession::CudaSession(const CudaSegment& segment, cuda::Launch& launch, Mode mode)
    : segment_(segment), api_(api()), options_(run_options(false)), draining_(run_options(true)) {
  launch.api().last_error.code();  // see run()
  const CudaAllocator::Scope scope(launch);
  const SharedCublas cublas(launch.stream());
  const auto configure = [&](OrtSessionOptions* options) {
    append_cuda_providers(options, segment, launch.stream(), mode);
    for (const auto& [name, weight] : segment.weights)
      check(api_.add_initializer(options, name.c_str(), weight->tensor.get()));
  };
  try {
    session_ = std::make_unique<InferenceSession>(segment.source->params(), configure);
  } catch (const std::runtime_error& error) {
    throw_if_lost(launch, error.what());
    throw;
  }
  binding_ = create<OrtIoBinding>(api_.create_binding, session_->get());
}

std::vector<std::optional<cuda::TensorInfo>> CudaSession::input_infos() const {
  std::vector<std::optional<cuda::TensorInfo>> infos;
  for (const std::string& name : segment_.source->input_names())
    infos.push_back(fixed_info(session_->input(name)));
  return infos;
}

std::vector<std::optional<cuda::TensorInfo>> CudaSession::output_infos() const {
  std::vector<std::optional<cuda::TensorInfo>> infos;
  for (const std::string& name : segment_.source->output_names())
    infos.push_back(fixed_info(session_->output(name)));
  return infos;
}

Handle<OrtValue> CudaSession::tensor_over(const cuda::CudaValue& value) const {
  const cuda::TensorInfo& info = value.info();
  return create<OrtValue>(api_.create_tensor_over, segment_.allocator.info(), value.data(),
                          info.bytes, info.shape.data(), info.shape.size(), to_ort(info.elem_type));
}

void CudaSession::bind_input(std::size_t index, const cuda::CudaValue& value) {
  check(api_.bind_input(binding_.get(), segment_.source->input_names()[index].c_str(),
                        tensor_over(value).get()));
}

void CudaSession::bind_output(std::size_t index, const cuda::CudaValue& value) {
  check(api_.bind_output(binding_.get(), segment_.source->output_names()[index].c_str(),
                         tensor_over(value).get()));
}

void CudaSession::bind_open_output(std::size_t index) {
  check(api_.bind_output_to_device(binding_.get(), segment_.source->output_names()[index].c_str(),
                                   segment_.allocator.info()));
}

void CudaSession::unbind() noexcept {
  api_.clear_bound_inputs(binding_.get());
  api_.clear_bound_outputs(binding_.get());
}

void CudaSession::run(cuda::Launch& launch, bool drains) {
  // Kernels of ONNX Runtime take the thread's last CUDA error for theirs, and an event that was
  // asked too early leaves one.
  launch.api().last_error.code();
  const CudaAllocator::Scope scope(launch);
  const SharedCublas cublas(launch.stream());
  OrtStatus* const status =
      api_.run_with_binding(session_->get(), (drains ? draining_ : options_).get(), binding_.get());
  if (status == nullptr) return;
  const std::string why = api_.get_error_message(status);
  api_.release_status(status);
  throw_if_lost(launch, why);
  if (blames_output(why)) throw ShapeError(why);
  throw std::runtime_error(why);
}

std::vector<std::shared_ptr<const OnnxValue>> CudaSession::outputs() const {
  OrtValue** values = nullptr;
  std::size_t count = 0;
  OrtAllocator* const allocator = Runtime::get().allocator();
  check(api_.bound_output_values(binding_.get(), allocator, &values, &count));
  const Handle<char> array(reinterpret_cast<char*>(values));
  std::vector<std::shared_ptr<const OnnxValue>> outputs;
  for (OrtValue* value : std::span(values, count))
    outputs.push_back(std::make_shared<OnnxValue>(Handle<OrtValue>(value)));
  return outputs;
}

}  // namespace engine::ort
