#include "ort/cuda_weights.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "ort/types.hpp"

namespace engine::ort {

namespace {

constexpr const char* weights_folder_key = "session.model_external_initializers_file_folder_path";
constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

[[noreturn]] void refuse(const std::string& path) {
  throw std::runtime_error("weights cannot be read from " + path);
}

/// Writes the tensor's bytes from `offset` on to `target`.
using Reader = std::function<void(std::uint64_t offset, void* target, std::size_t bytes)>;

/// A copy in the GPU's memory, through pinned memory. The GPU must be idle.
cuda::Memory upload(std::size_t bytes, const Reader& read, const cuda::DeviceParts& device) {
  const std::uint32_t lane = device.first_lane;
  cuda::Launch launch(device.api, device.streams, device.memory, device.pinned, lane);
  cuda::Memory memory = launch.allocate(bytes);
  const cuda::Memory staged = launch.allocate_pinned(std::min(bytes, chunk_bytes));
  for (std::size_t done = 0; done < bytes; done += chunk_bytes) {
    const std::size_t size = std::min(chunk_bytes, bytes - done);
    read(done, staged.get(), size);
    launch.api().copy_async(static_cast<std::byte*>(memory.get()) + done, staged.get(), size,
                            cuda::host_to_device, launch.stream());
    static_cast<void>(device.streams.record(lane));
    device.streams.settle();
  }
  return memory;
}

Reader of_file(const std::string& path, std::uint64_t begin) {
  auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  return [file, path, begin](std::uint64_t offset, void* target, std::size_t bytes) {
    file->seekg(static_cast<std::streamoff>(begin + offset));
    if (!file->read(static_cast<char*>(target), static_cast<std::streamsize>(bytes))) refuse(path);
  };
}

Reader of_text(std::string_view model, std::uint64_t begin) {
  return [model, begin](std::uint64_t offset, void* target, std::size_t bytes) {
    std::memcpy(target, model.data() + begin + offset, bytes);
  };
}

/// Whether the bytes are those of a dense tensor of whole bytes.
bool is_plain(const OnnxWeight& weight) {
  std::size_t count = 1;
  for (const std::int64_t extent : weight.shape) count *= static_cast<std::size_t>(extent);
  return element_bits(weight.elem_type) >= 8 &&
         packed_bytes(weight.elem_type, count) == weight.bytes;
}

std::string key_of(const std::string& path, const OnnxWeight& weight) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) refuse(path);
  std::ostringstream key;
  key << path << '\0' << file.st_dev << ' ' << file.st_ino << ' ' << file.st_size << ' '
      << file.st_mtim.tv_sec << ' ' << file.st_mtim.tv_nsec << ' ' << weight.offset << ' '
      << weight.elem_type;
  for (const std::int64_t extent : weight.shape) key << ' ' << extent;
  return std::move(key).str();
}

std::string folder_of(const SessionParams& model) {
  const auto named = model.config.find(weights_folder_key);
  if (named != model.config.end()) return named->second;
  return model.is_bytes ? "" : std::filesystem::path(model.model).parent_path().string();
}

}  // namespace

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!(content << file.rdbuf())) refuse(path);
  return std::move(content).str();
}

std::vector<NamedWeight> CudaWeights::of(const SessionParams& model, std::string_view content,
                                         const cuda::DeviceParts& device) {
  const std::filesystem::path folder = folder_of(model);
  std::vector<NamedWeight> found;
  for (const OnnxWeight& weight : onnx_weights(content, least_bytes)) {
    if (!is_plain(weight)) continue;
    if (!weight.location.empty())
      found.emplace_back(weight.name, find((folder / weight.location).string(), weight, device));
    else if (!model.is_bytes)
      found.emplace_back(weight.name, find(model.model, weight, device));
    else
      found.emplace_back(
          weight.name, make(weight, upload(weight.bytes, of_text(content, weight.offset), device)));
  }
  return found;
}

CudaWeights::WeightPtr CudaWeights::find(const std::string& path, const OnnxWeight& weight,
                                         const cuda::DeviceParts& device) {
  const std::string key = key_of(path, weight);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  if (const auto known = known_.find(key); known != known_.end())
    if (WeightPtr there = known->second.lock()) return there;
  WeightPtr made = make(weight, upload(weight.bytes, of_file(path, weight.offset), device));
  known_[key] = made;
  return made;
}

CudaWeights::WeightPtr CudaWeights::make(const OnnxWeight& weight, cuda::Memory memory) const {
  auto tensor =
      create<OrtValue>(api().create_tensor_over, info_, memory.get(), weight.bytes,
                       weight.shape.data(), weight.shape.size(), to_ort(weight.elem_type));
  return std::make_shared<const CudaWeight>(std::move(memory), std::move(tensor));
}

}  // namespace engine::ort
