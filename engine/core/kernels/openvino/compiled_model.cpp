#include "kernels/openvino/compiled_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "ort/types.hpp"

namespace engine::kernels::openvino {
namespace {

constexpr const char* device = "CPU";

/// The model's inputs at the sizes that it is compiled for.
void reshape(const Api& api, const OvModel* model, const KernelParams& params) {
  std::vector<const char*> names;
  std::vector<std::vector<OvDimension>> extents;
  std::vector<OvPartialShape> shapes;
  for (std::size_t i = 0; i < params.inputs.size(); ++i) {
    names.push_back(params.input_names[i].c_str());
    std::vector<OvDimension>& row = extents.emplace_back();
    for (const std::int64_t extent : params.inputs[i].shape) row.push_back({extent, extent});
    if (row.empty()) row.reserve(1);  // of a scalar: an address all the same
  }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const auto rank = static_cast<std::int64_t>(params.inputs[i].shape.size());
    shapes.push_back({{rank, rank}, extents[i].data()});
  }
  if (names.empty()) return;
  api.check(api.ov_model_reshape(model, names.data(), shapes.data(), names.size()),
            "to set its inputs' sizes");
}

}  // namespace

const OvCore* Cores::get(const KernelParams& params) {
  const std::lock_guard lock(mutex_);
  Handle<OvCore>& core = all_[{params.width, params.precision, params.times_operators}];
  if (core.get() != nullptr) return core.get();
  auto made = made_by<OvCore>(api_, api_.ov_core_free, "to begin", api_.ov_core_create);
  const std::string count = std::to_string(params.width);
  const auto set = [&](const char* name, const char* value) {
    // Unnamed arguments end with a null key.
    api_.check(api_.ov_core_set_property(made.get(), device, name, value, nullptr), name);
  };
  set("INFERENCE_NUM_THREADS", count.c_str());
  set("NUM_STREAMS", "1");
  set("INFERENCE_PRECISION_HINT",
      params.precision.c_str());  // bf16 unless told, on CPUs that have it
  set("ENABLE_CPU_PINNING", "NO");
  if (params.times_operators) set("PERF_COUNT", "YES");
  core = std::move(made);
  return core.get();
}

bool Port::is_sized() const {
  return shape && std::ranges::find(*shape, any_extent) == shape->end();
}

CompiledModel::CompiledModel(Cores& cores, const KernelParams& params)
    : api_(cores.api()), compiled_(compiled(cores.get(params), params)) {
  request_ = made_by<OvRequest>(api_, api_.ov_infer_request_free, "to prepare a run",
                                api_.ov_compiled_model_create_infer_request, compiled_.get());
  for (std::size_t i = 0; i < params.inputs.size(); ++i)
    inputs_.push_back(port(api_.ov_compiled_model_input_by_name, params.input_names[i],
                           params.inputs[i].elem_type));
  for (std::size_t i = 0; i < params.output_names.size(); ++i)
    outputs_.push_back(port(api_.ov_compiled_model_output_by_name, params.output_names[i],
                            params.output_types[i]));
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    unsized_.push_back(unsized(outputs_[i], params.output_types[i]));
}

Handle<OvCompiled> CompiledModel::compiled(const OvCore* core, const KernelParams& params) {
  if (!params.compiled_path.empty()) {
    blob_ = Blob::open(params.compiled_path);
    const std::span<const char> bytes = blob_->bytes();
    return made_by<OvCompiled>(api_, api_.ov_compiled_model_free, "to open what it compiled",
                               api_.ov_core_import_model, core, bytes.data(), bytes.size(), device);
  }
  const auto model =
      made_by<OvModel>(api_, api_.ov_model_free, "to read the model", api_.ov_core_read_model, core,
                       params.model_path.c_str(), static_cast<const char*>(nullptr));
  reshape(api_, model.get(), params);
  OvCompiled* made = nullptr;
  api_.check(api_.ov_core_compile_model(core, model.get(), device, 0, &made), "to compile");
  return {made, api_.ov_compiled_model_free};
}

Port CompiledModel::port(int (*find)(const OvCompiled*, const char*, OvPort**),
                         const std::string& name, int elem_type) const {
  Port port{made_by<OvPort>(api_, api_.ov_output_const_port_free, "to find an input or output",
                            find, compiled_.get(), name.c_str())};
  api_.check(api_.ov_port_get_element_type(port.handle.get(), &port.type), "to ask for a type");
  OvPartialShape shape{};
  api_.check(api_.ov_port_get_partial_shape(port.handle.get(), &shape), "to ask for a shape");
  if (shape.rank.min == shape.rank.max) {
    std::vector<std::int64_t>& extents = port.shape.emplace();
    for (const OvDimension& dim : std::span(shape.dims, static_cast<std::size_t>(shape.rank.max)))
      extents.push_back(dim.min == dim.max ? dim.max : any_extent);
  }
  api_.ov_partial_shape_free(&shape);
  // Of one element: what one takes tells types apart as far as memory is concerned.
  alignas(64) static std::byte element[64];
  const std::int64_t one = 1;
  const auto tensor = made_by<OvTensor>(api_, api_.ov_tensor_free, "to make a tensor",
                                        api_.ov_tensor_create_from_host_ptr, port.type,
                                        shape_of({&one, 1}), static_cast<void*>(element));
  std::size_t bytes = 0;
  api_.check(api_.ov_tensor_get_byte_size(tensor.get(), &bytes), "to ask for a size");
  if (bytes != ort::packed_bytes(elem_type, 1))
    throw std::runtime_error("OpenVINO: an element of '" + name + "' takes " +
                             std::to_string(bytes) + " bytes, in the model " +
                             std::to_string(ort::packed_bytes(elem_type, 1)));
  return port;
}

void CompiledModel::set(const Port& port, std::span<const std::int64_t> shape, void* data) {
  const auto tensor =
      made_by<OvTensor>(api_, api_.ov_tensor_free, "to make a tensor",
                        api_.ov_tensor_create_from_host_ptr, port.type, shape_of(shape), data);
  api_.check(api_.ov_infer_request_set_tensor_by_const_port(request_.get(), port.handle.get(),
                                                            tensor.get()),
             "to take a tensor");
}

std::optional<UnsizedOutput> CompiledModel::unsized(const Port& port, int elem_type) const {
  auto marking = port.shape ? marking_shape(*port.shape, elem_type) : std::nullopt;
  if (!marking) return std::nullopt;
  UnsizedOutput output(api_, port.type, *port.shape, *std::move(marking));
  api_.check(api_.ov_infer_request_set_tensor_by_const_port(request_.get(), port.handle.get(),
                                                            output.tensor()),
             "to take a tensor");
  return output;
}

void CompiledModel::run_elsewhere() {
  api_.check(api_.ov_infer_request_start_async(request_.get()), "to start a run");
  api_.check(api_.ov_infer_request_wait(request_.get()), "a run");
}

Made CompiledModel::made(const Port& port) const {
  const auto tensor = made_by<OvTensor>(
      api_, api_.ov_tensor_free, "to get an output", api_.ov_infer_request_get_tensor_by_const_port,
      static_cast<const OvRequest*>(request_.get()), static_cast<const OvPort*>(port.handle.get()));
  return contents(api_, tensor.get());
}

void CompiledModel::export_to(const std::string& path) const {
  api_.check(api_.ov_compiled_model_export_model(compiled_.get(), path.c_str()),
             "to export what it compiled");
}

std::vector<OperatorTime> CompiledModel::operator_times() const {
  OvProfilingInfos infos{};
  api_.check(api_.ov_infer_request_get_profiling_info(request_.get(), &infos),
             "to say how long operators took");
  std::vector<OperatorTime> times;
  for (std::size_t i = 0; i < infos.count; ++i)
    times.push_back({infos.infos[i].node_name, infos.infos[i].real_time * 1000});
  api_.ov_profiling_info_list_free(&infos);
  return times;
}

}  // namespace engine::kernels::openvino
