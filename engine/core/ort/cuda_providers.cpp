#include "ort/cuda_providers.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace engine::ort {

namespace {

/// Options of a provider by name. The stream comes after them: strings reset all else.
class Entries {
 public:
  void add(const char* key, std::string value) { entries_.emplace_back(key, std::move(value)); }
  void add(const char* key, bool value) { add(key, std::string(value ? "1" : "0")); }

  template <typename Options, typename Update, typename SetPointer>
  void give(Options* options, const Update& update, const SetPointer& set_pointer,
            cuda::StreamHandle stream) const {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : entries_) {
      keys.push_back(key);
      values.push_back(value.c_str());
    }
    check(update(options, keys.data(), values.data(), keys.size()));
    check(set_pointer(options, "user_compute_stream", stream));
  }

 private:
  std::vector<std::pair<const char*, std::string>> entries_;
};

void append_cuda(OrtSessionOptions* session, const CudaSegment& segment, cuda::StreamHandle stream,
                 bool captures) {
  Entries entries;
  entries.add("device_id", std::to_string(segment.ordinal));
  entries.add("use_tf32", segment.uses_tf32);
  entries.add("enable_cuda_graph", captures);
  const auto options = create<OrtCUDAProviderOptionsV2>(api().create_cuda_options);
  entries.give(options.get(), api().update_cuda_options, api().set_cuda_pointer, stream);
  check(api().append_cuda(session, options.get()));
}

void append_tensorrt(OrtSessionOptions* session, const CudaSegment& segment,
                     cuda::StreamHandle stream, bool captures) {
  Entries entries;
  entries.add("device_id", std::to_string(segment.ordinal));
  entries.add("trt_cuda_graph_enable", captures);
  if (const std::string& folder = segment.providers.engines; !folder.empty()) {
    entries.add("trt_engine_cache_enable", true);
    entries.add("trt_engine_cache_path", folder);
    entries.add("trt_timing_cache_enable", true);
    entries.add("trt_timing_cache_path", folder);
  }
  const auto options = create<OrtTensorRTProviderOptionsV2>(api().create_tensorrt_options);
  entries.give(options.get(), api().update_tensorrt_options, api().set_tensorrt_pointer, stream);
  check(api().append_tensorrt(session, options.get()));
}

template <typename Append>
void append(const char* provider, const char* needs, const Append& append_one) {
  try {
    append_one();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("ONNX Runtime has no " + std::string(provider) +
                             " provider here: " + error.what() + " (" + needs + ")");
  }
}

}  // namespace

void append_cuda_providers(OrtSessionOptions* session, const CudaSegment& segment,
                           cuda::StreamHandle stream, CudaSession::Mode mode) {
  const bool captures = mode == CudaSession::Mode::capture;
  const bool tensorrt = segment.providers.tensorrt;
  if (tensorrt)
    append("TensorRT",
           "libonnxruntime_providers_tensorrt.so of onnxruntime-gpu must lie beside ONNX Runtime's "
           "own library and find TensorRT's",
           [&] { append_tensorrt(session, segment, stream, captures); });
  // ONNX Runtime captures a graph of one provider's operators only: of the first.
  append("CUDA",
         "libonnxruntime_providers_cuda.so of onnxruntime-gpu must lie beside ONNX Runtime's own "
         "library and find CUDA's",
         [&] { append_cuda(session, segment, stream, captures && !tensorrt); });
}

}  // namespace engine::ort
