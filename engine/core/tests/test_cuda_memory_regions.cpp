#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cuda_fixtures.hpp"
#include "shared_memory/cuda_memory.hpp"
#include "shared_memory/regions.hpp"
#include "test.hpp"

namespace cuda_memory_regions_tests {

using namespace engine;
using namespace engine::test;

namespace {

/// A client's process with memory of the GPU, which here is this one.
class Client {
 public:
  explicit Client(std::size_t bytes) : api_(FAKE_CUDA_LIBRARY), bytes_(bytes) {
    api_.device_allocate(&memory_, bytes);
    using Give = int (*)(CudaHandle*, void*);
    const auto give = reinterpret_cast<Give>(api_.library().symbol("cudaIpcGetMemHandle"));
    CHECK(give(&handle, memory_) == 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { api_.device_free.code(memory_); }

  /// What lies there; the fake's memory is the host's.
  [[nodiscard]] std::string text() const { return {static_cast<const char*>(memory_), bytes_}; }
  void put(const std::string& text) { std::memcpy(memory_, text.data(), text.size()); }
  [[nodiscard]] std::size_t opened() const {
    return reinterpret_cast<std::size_t (*)()>(api_.library().symbol("fakeCudaOpenHandles"))();
  }

  CudaHandle handle{};

 private:
  cuda::Api api_;
  const std::size_t bytes_;
  void* memory_ = nullptr;
};

Region on_gpu(const std::string& name, std::uint64_t bytes, int gpu = 0) {
  return {.name = name, .key = {}, .offset = 0, .bytes = bytes, .gpu = gpu};
}

/// The fault of what it throws, and its text.
std::pair<RegionFault, std::string> fault_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const RegionError& error) {
    return {error.fault(), error.what()};
  }
  throw std::runtime_error("it threw nothing");
}

/// With the fake's libraries, anew.
struct Gpu {
  Gpu() {
    use_cuda_of("", "");
    use_cuda_of(FAKE_CUDA_LIBRARY, FAKE_CUDA_LIBRARY);
  }
  ~Gpu() {
    use_cuda_of("", "");
    if (cuda.violations() != 0) {
      std::fprintf(stderr, "%s\n", cuda.text().c_str());
      std::abort();
    }
  }
  FakeCuda cuda;
};

}  // namespace

TEST(bytes_go_to_a_gpu_and_back) {
  const Gpu gpu;
  constexpr std::size_t bytes = (3U << 20) + 17;  // several parts of what is copied at a time
  Client client(bytes);
  std::string text(bytes, 'a');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 % 251);
  client.put(text);
  Regions regions;
  regions.add_of_gpu(on_gpu("r", bytes), client.handle);
  std::string read(bytes - 5, ' ');
  regions.read("r", 5, read.data(), read.size());
  CHECK(read == text.substr(5));
  regions.write("r", 100, "hello", 5);
  CHECK(client.text().substr(98, 9) == text.substr(98, 2) + "hello" + text.substr(105, 2));
  CHECK(client.opened() == 1);
  regions.remove("r");  // those of the host
  CHECK(client.opened() == 1);
  regions.remove("r", true);
  CHECK(client.opened() == 0);
}

TEST(regions_of_gpus_are_listed_apart) {
  const Gpu gpu;
  Client client(64);
  Regions regions;
  regions.add_of_gpu(on_gpu("b", 64), client.handle);
  regions.add_of_gpu(on_gpu("a", 32), client.handle);
  CHECK(regions.list().empty() && regions.list(true).size() == 2);
  CHECK(regions.list(true)[0].name == "a" && regions.find("b").gpu == 0);
  CHECK(fault_of([&] { regions.add_of_gpu(on_gpu("a", 8), client.handle); }).first ==
        RegionFault::exists);
  regions.clear();
  CHECK(regions.list(true).size() == 2);
  regions.clear(true);
  CHECK(regions.list(true).empty() && client.opened() == 0);
}

TEST(what_a_gpu_does_not_have_is_not_registered) {
  const Gpu gpu;
  Client client(64);
  Regions regions;
  const auto faulty = [&](const Region& region, const CudaHandle& handle) {
    return fault_of([&] { regions.add_of_gpu(region, handle); });
  };
  CHECK(faulty(on_gpu("r", 65), client.handle).first == RegionFault::invalid);
  CHECK(faulty(on_gpu("r", 0), client.handle).first == RegionFault::invalid);
  const auto [fault, text] = faulty(on_gpu("r", 8), CudaHandle{});
  CHECK(fault == RegionFault::invalid);
  CHECK(text.find("'r'") != std::string::npos && text.find("cudaIpc") != std::string::npos);
  CHECK(faulty(on_gpu("r", 8, 99), client.handle).first == RegionFault::no_gpu);
  CHECK(client.opened() == 0 && regions.list(true).empty());
  regions.add_of_gpu(on_gpu("r", 64), client.handle);
  CHECK(fault_of([&] { regions.check("r", 60, 5); }).first == RegionFault::invalid);
  regions.clear(true);
}

TEST(a_gpu_that_is_lost_fails_who_reads_it) {
  const Gpu gpu;
  Client client(64);
  Regions regions;
  regions.add_of_gpu(on_gpu("r", 64), client.handle);
  gpu.cuda.inject("cudaMemcpyAsync", 1, 1);
  std::array<char, 64> into{};
  const auto [fault, text] = fault_of([&] { regions.read("r", 0, into.data(), 64); });
  CHECK(fault == RegionFault::unreachable && text.find("'r'") != std::string::npos);
  regions.read("r", 0, into.data(), 64);
  regions.clear(true);
}

TEST(without_cuda_no_region_of_a_gpu_is_registered) {
  use_cuda_of("/no/such/library.so", "");
  Regions regions;
  CHECK(fault_of([&] { regions.add_of_gpu(on_gpu("r", 8), CudaHandle{}); }).first ==
        RegionFault::no_gpu);
  use_cuda_of("", "");
}

TEST(threads_read_a_gpu_in_turns) {
  const Gpu gpu;
  Client client(4096);
  Regions regions;
  regions.add_of_gpu(on_gpu("r", 4096), client.handle);
  client.put(std::string(4096, 'x'));
  std::vector<std::thread> threads;
  std::array<bool, 4> well{};
  for (std::size_t i = 0; i < well.size(); ++i)
    threads.emplace_back([&, i] {
      std::string into(4096, ' ');
      well[i] = true;
      for (int round = 0; round < 20; ++round) {
        regions.read("r", 0, into.data(), into.size());
        well[i] = well[i] && into == std::string(4096, 'x');
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(well[0] && well[1] && well[2] && well[3]);
  regions.clear(true);
}

}  // namespace cuda_memory_regions_tests
