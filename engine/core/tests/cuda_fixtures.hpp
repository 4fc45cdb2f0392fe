// What the tests of CUDA devices share: the fake library, values of numbers, kernels that add.
#pragma once

#include <dlfcn.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/cuda/captures.hpp"
#include "devices/cuda/cuda_device.hpp"
#include "devices/cuda/graph.hpp"
#include "devices/cuda/host_kernel.hpp"
#include "devices/cuda/kernel.hpp"
#include "fake_cuda.hpp"
#include "fixtures.hpp"
#include "test.hpp"

namespace engine::test {

/// The fake CUDA library, begun anew. One at a time.
class FakeCuda {
 public:
  explicit FakeCuda(std::uint64_t seed = 1) {
    find<decltype(fakeCudaReset)>("fakeCudaReset")(seed);
  }

  void gpus(int count, bool has_peers = true) const {
    find<decltype(fakeCudaGpus)>("fakeCudaGpus")(count, has_peers);
  }
  void lose(int gpu, int code) const { find<decltype(fakeCudaLose)>("fakeCudaLose")(gpu, code); }
  [[nodiscard]] std::size_t peer_copies(bool direct) const {
    return find<decltype(fakeCudaPeerCopies)>("fakeCudaPeerCopies")(direct);
  }
  void seal(bool sealed) const { find<decltype(fakeCudaSeal)>("fakeCudaSeal")(sealed); }
  void inject(const char* function, int nth, int code) const {
    find<decltype(fakeCudaInject)>("fakeCudaInject")(function, nth, code);
  }
  void limit(std::size_t bytes) const { find<decltype(fakeCudaMemory)>("fakeCudaMemory")(bytes); }
  void ignore(const char* function) const {
    find<decltype(fakeCudaIgnore)>("fakeCudaIgnore")(function);
  }
  /// None ends it. One of each function at a time.
  void during(const char* function, std::function<void()> action) const {
    static std::map<std::string, std::function<void()>> actions;
    std::function<void()>& kept = actions[function] = std::move(action);
    find<decltype(fakeCudaDuring)>("fakeCudaDuring")(
        function,
        kept ? [](void* held) { (*static_cast<std::function<void()>*>(held))(); }
             : static_cast<void (*)(void*)>(nullptr),
        &kept);
  }
  [[nodiscard]] std::size_t launches(unsigned sms) const {
    return find<decltype(fakeCudaLaunches)>("fakeCudaLaunches")(sms);
  }
  [[nodiscard]] std::size_t alive() const {
    return find<decltype(fakeCudaAlive)>("fakeCudaAlive")();
  }
  [[nodiscard]] std::size_t violations() const {
    return find<decltype(fakeCudaViolations)>("fakeCudaViolations")(nullptr, 0);
  }
  /// Of the first broken rules.
  [[nodiscard]] std::string text() const {
    std::array<char, 4096> text{};
    find<decltype(fakeCudaViolations)>("fakeCudaViolations")(text.data(), text.size());
    return text.data();
  }
  void check_clean() const {
    if (violations() != 0)
      throw std::runtime_error(std::to_string(violations()) + " violations: " + text());
  }
  static int launch(void* stream, const std::vector<FakeCudaAccess>& accesses, void (*work)(void*),
                    void* argument) {
    static const auto function = find<decltype(fakeCudaLaunch)>("fakeCudaLaunch");
    return function(stream, accesses.data(), accesses.size(), work, argument);
  }
  /// As a call of `function` that waits for the whole device.
  static int wait_for_all(const char* function) {
    return find<decltype(fakeCudaWaitForAll)>("fakeCudaWaitForAll")(function);
  }

 private:
  template <typename Function>
  static Function* find(const char* name) {
    static void* const library = dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
};

/// Equal numbers in host memory.
class HostNumbers final : public Value {
 public:
  HostNumbers(cuda::Memory memory, std::size_t size_bytes)
      : memory_(std::move(memory)), size_bytes_(size_bytes) {}
  [[nodiscard]] std::size_t bytes() const noexcept override { return size_bytes_; }
  [[nodiscard]] const std::int64_t* data() const {
    return static_cast<const std::int64_t*>(memory_.get());
  }
  [[nodiscard]] std::int64_t number() const {
    for (std::size_t i = 0; i < size_bytes_ / 8; ++i)
      if (data()[i] != data()[0]) return -1'000'000;
    return data()[0];
  }

 private:
  const cuda::Memory memory_;
  const std::size_t size_bytes_;
};

inline ValuePtr host_numbers(std::int64_t number, std::size_t count) {
  auto numbers = std::make_shared<std::vector<std::int64_t>>(count, number);
  std::int64_t* const data = numbers->data();
  return std::make_shared<HostNumbers>(cuda::Memory(std::move(numbers), data), 8 * count);
}
inline std::int64_t numbers_of(const ValuePtr& value) {
  return static_cast<const HostNumbers&>(*value).number();
}

/// A sum that may overflow: with planted bugs, kernels read memory that nobody wrote.
inline std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// On the host: one more than the sum of the inputs.
class HostSum final : public Kernel {
 public:
  explicit HostSum(std::size_t count) : count_(count) {}
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken*) const override {
    std::int64_t sum = 1;
    for (const ValuePtr& input : inputs) sum = wrapping_sum(sum, numbers_of(input));
    outputs[0] = host_numbers(sum, count_);
  }

 private:
  const std::size_t count_;
};

/// The same on the GPU: it reads all inputs, and writes scratch memory and its output.
class GpuSum final : public cuda::CudaKernel {
 public:
  /// `input_counts` says how many numbers its inputs have; without it cannot be captured.
  explicit GpuSum(std::size_t count, std::vector<std::size_t> input_counts = {})
      : count_(count), input_counts_(std::move(input_counts)) {}

  [[nodiscard]] std::unique_ptr<cuda::Replay> capture(cuda::Launch& launch) const override {
    if (input_counts_.empty()) return CudaKernel::capture(launch);
    std::vector<cuda::TensorInfo> inputs;
    for (const std::size_t count : input_counts_)
      inputs.push_back({.bytes = 8 * count, .elem_type = 7});
    return cuda::capture_enqueue(*this, launch, inputs, 1);
  }
  void enqueue(cuda::Launch& launch, std::span<const ValuePtr> inputs,
               std::span<ValuePtr> outputs) const override {
    Work& work = new_work();
    std::vector<FakeCudaAccess> accesses;
    for (const ValuePtr& input : inputs) {
      const auto& value = static_cast<const cuda::CudaValue&>(*input);
      accesses.push_back({value.data(), value.bytes(), false});
      work.inputs.push_back(static_cast<const std::int64_t*>(value.data()));
    }
    const cuda::Memory scratch = launch.allocate(8 * count_);
    cuda::Memory output = launch.allocate(8 * count_);
    work.scratch = static_cast<std::int64_t*>(scratch.get());
    work.output = static_cast<std::int64_t*>(output.get());
    work.count = count_;
    accesses.push_back({scratch.get(), 8 * count_, true});
    accesses.push_back({output.get(), 8 * count_, true});
    const int code = FakeCuda::launch(launch.stream(), accesses, &run, &work);
    if (code != 0) throw launch.api().library().error(code, "launch");
    outputs[0] = std::make_shared<cuda::CudaValue>(
        std::move(output), cuda::TensorInfo{.bytes = 8 * count_, .elem_type = 7});
  }

 private:
  struct Work {
    std::vector<const std::int64_t*> inputs;
    std::int64_t* scratch = nullptr;
    std::int64_t* output = nullptr;
    std::size_t count = 0;
  };
  /// Several lanes may be launching.
  Work& new_work() const {
    const std::lock_guard lock(mutex_);
    return works_.emplace_back();
  }
  static void run(void* argument) {
    const Work& work = *static_cast<const Work*>(argument);
    std::int64_t sum = 1;
    for (const std::int64_t* input : work.inputs) sum = wrapping_sum(sum, *input);
    std::fill_n(work.scratch, work.count, -7);
    std::fill_n(work.output, work.count, sum);
  }

  const std::size_t count_;
  const std::vector<std::size_t> input_counts_;
  mutable std::mutex mutex_;
  mutable std::deque<Work> works_;
};

/// The same, and waits for the GPU within its launch, as some operators of a provider do.
class WaitingSum final : public cuda::CudaKernel {
 public:
  explicit WaitingSum(std::size_t count) : sum_(count) {}
  void enqueue(cuda::Launch& launch, std::span<const ValuePtr> inputs,
               std::span<ValuePtr> outputs) const override {
    sum_.enqueue(launch, inputs, outputs);
    launch.api().stream_synchronize(launch.stream());
  }

 private:
  const GpuSum sum_;
};

class NumbersBackend final : public cuda::Backend {
 public:
  [[nodiscard]] HostTensor read(const Value& host) const override {
    const auto& numbers = dynamic_cast<const HostNumbers&>(host);
    return {numbers.data(), {.bytes = numbers.bytes(), .elem_type = 7}};
  }
  [[nodiscard]] ValuePtr make_host(cuda::Memory memory,
                                   const cuda::TensorInfo& info) const override {
    return std::make_shared<HostNumbers>(std::move(memory), info.bytes);
  }
  [[nodiscard]] std::shared_ptr<const cuda::CudaKernel> adapt(
      std::shared_ptr<const Kernel> kernel, const cuda::DeviceParts&) const override {
    return std::make_shared<cuda::HostKernel>(std::move(kernel), *this);
  }
};

/// Kernels are opened on all lanes at once.
inline DeviceParams gpu(int lanes) {
  DeviceParams params{.kind = "cuda", .name = "cuda:0", .lanes = lanes};
  params.of<CudaParams>().library = params.of<CudaParams>().driver = FAKE_CUDA_LIBRARY;
  params.of<CudaParams>().reserve_bytes = std::size_t{lanes + 1U} << 22;
  params.of<CudaParams>().staging_bytes = 4U << 20;
  params.of<CudaParams>().lanes_at_once = lanes;
  params.of<CudaParams>().backend = std::make_shared<NumbersBackend>();
  return params;
}

/// The GPU of that number.
inline DeviceParams gpu_number(int ordinal, int lanes) {
  DeviceParams params = gpu(lanes);
  params.name = "cuda:" + std::to_string(ordinal);
  params.of<CudaParams>().ordinal = ordinal;
  return params;
}

/// A partition of GPU 0.
inline DeviceParams partition(int sms, int lanes) {
  DeviceParams params = gpu(lanes);
  params.name = "cuda:0[" + std::to_string(sms) + "sm]";
  params.of<CudaParams>().sms = sms;
  return params;
}

}  // namespace engine::test
