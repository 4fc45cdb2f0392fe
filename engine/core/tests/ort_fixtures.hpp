// What the tests of sessions on a GPU share: the fake ONNX Runtime, its models, values and plans.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda_fixtures.hpp"
#include "fake_ort.hpp"
#include "ort/cuda.hpp"
#include "ort/runtime.hpp"
#include "ort/source.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine::test {

/// The fake ONNX Runtime, opened as the real one is, begun anew. One at a time.
class FakeOrt {
 public:
  FakeOrt() {
    ort::open_runtime(FAKE_ORT_LIBRARY);
    find<decltype(fakeOrtReset)>("fakeOrtReset")();
  }
  [[nodiscard]] std::size_t count(const char* what) const {
    return find<decltype(fakeOrtCount)>("fakeOrtCount")(what);
  }
  void has_tensorrt(bool has) const {
    find<decltype(fakeOrtHasTensorRt)>("fakeOrtHasTensorRt")(has);
  }
  void has_cuda(bool has) const { find<decltype(fakeOrtHasCuda)>("fakeOrtHasCuda")(has); }
  [[nodiscard]] std::string text() const {
    std::array<char, 4096> text{};
    find<decltype(fakeOrtViolations)>("fakeOrtViolations")(text.data(), text.size());
    return text.data();
  }
  void check_clean() const {
    if (const std::string broken = text(); !broken.empty())
      throw std::runtime_error("violations: " + broken);
  }

 private:
  template <typename Function>
  static Function* find(const char* name) {
    static void* const library = dlopen(FAKE_ORT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
};

/// A GPU whose nodes are sessions.
inline DeviceParams gpu_of_sessions(int lanes) {
  DeviceParams params = gpu(lanes);
  params.of<CudaParams>().backend = make_ort_cuda_backend(0);
  return params;
}

inline ValuePtr tensor(std::int64_t number, std::size_t count) {
  const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(count)};
  auto made = ort::make_tensor(ort::kInt64, shape);
  std::fill_n(static_cast<std::int64_t*>(made->data()), count, number);
  return made;
}

/// Equal numbers; and how many.
inline std::pair<std::int64_t, std::size_t> numbers_in(const ValuePtr& value) {
  const auto& made = static_cast<const ort::OnnxValue&>(*value);
  const std::size_t count = made.bytes() / sizeof(std::int64_t);
  const auto* data = count == 0 ? nullptr : static_cast<const std::int64_t*>(made.data());
  for (std::size_t i = 1; i < count; ++i)
    if (data[i] != data[0]) return {-1'000'000, count};
  return {count == 0 ? 0 : data[0], count};
}

// --- ONNX files, as far as anybody here reads them ---

inline std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7f) | 0x80);
  return bytes + static_cast<char>(number);
}
inline std::string field(std::uint64_t id, std::uint64_t number) {
  return varint(id << 3) + varint(number);
}
inline std::string field(std::uint64_t id, const std::string& bytes) {
  return varint(id << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string int64_bytes(std::int64_t number, std::size_t count) {
  const std::vector<std::int64_t> numbers(count, number);
  return {reinterpret_cast<const char*>(numbers.data()), 8 * count};
}
/// A TensorProto of numbers in the file itself.
inline std::string initializer(const std::string& name, std::int64_t number, std::size_t count) {
  return field(1, count) + field(2, std::uint64_t{7}) + field(8, name) +
         field(9, int64_bytes(number, count));
}
/// The same of numbers in another file.
inline std::string initializer(const std::string& name, const std::string& location,
                               std::size_t offset, std::size_t count) {
  const auto entry = [](const std::string& key, const std::string& value) {
    return field(13, field(1, key) + field(2, value));
  };
  return field(1, count) + field(2, std::uint64_t{7}) + field(8, name) +
         entry("location", location) + entry("offset", std::to_string(offset)) +
         entry("length", std::to_string(8 * count)) + field(14, std::uint64_t{1});
}
/// A ModelProto that the fake understands.
inline std::string model(const std::string& text, const std::vector<std::string>& tensors = {}) {
  std::string graph = field(10, "fake:" + text + ";;");
  for (const std::string& bytes : tensors) graph += field(5, bytes);
  return field(1, std::uint64_t{8}) + field(7, graph);
}

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  /// Its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    const auto path = path_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("surplus-core-" + std::to_string(::getpid()));
};

/// A session that is not open yet, of a model in a file or of its bytes.
inline std::shared_ptr<const Kernel> source(ort::SessionParams params,
                                            std::vector<std::string> inputs,
                                            std::vector<std::string> outputs) {
  return std::make_shared<ort::SessionSource>(std::move(params), std::move(inputs),
                                              std::move(outputs));
}

/// Inputs copied in, one node on the GPU, outputs copied out.
inline PlanPtr plan_of(const MachineOwner& machine, std::shared_ptr<const Kernel> kernel,
                       std::size_t inputs, std::size_t outputs, bool captured = false) {
  PlanBuilder builder(machine.get());
  std::vector<int> given, moved, made, answers;
  for (std::size_t i = 0; i < inputs; ++i) {
    given.push_back(builder.add_value("given"));
    moved.push_back(builder.add_value("moved"));
  }
  builder.set_inputs(given);
  for (std::size_t i = 0; i < inputs; ++i) builder.add_copy("in", 0, 1, given[i], moved[i]);
  for (std::size_t i = 0; i < outputs; ++i) made.push_back(builder.add_value("made"));
  builder.add_node({.name = "n",
                    .device = 1,
                    .kernel = std::move(kernel),
                    .inputs = moved,
                    .outputs = made,
                    .captured_ns = captured ? 0 : -1});
  for (const int value : made) {
    answers.push_back(builder.add_value("answer"));
    builder.add_copy("out", 1, 0, value, answers.back());
  }
  builder.set_outputs(answers);
  return builder.build();
}

}  // namespace engine::test
