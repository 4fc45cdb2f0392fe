#include "shared_memory/cuda_memory.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "devices/cuda/api.hpp"
#include "devices/cuda/captures.hpp"
#include "devices/cuda/ipc.hpp"
#include "shared_memory/region_texts.hpp"

namespace engine {

namespace cuda {

namespace {

constexpr std::size_t staging_bytes = 1U << 20;

}  // namespace

class Copier;

/// Those of this process, and where their libraries are. Never destroyed: CUDA may have ended
/// before.
struct Copiers {
  static Copiers& of_process() {
    static auto* const copiers = new Copiers;
    return *copiers;
  }
  std::mutex mutex;  // of all
  std::string runtime, driver;
  std::map<int, std::shared_ptr<Copier>> by_gpu;
};

/// Copies between a GPU and the host, one at a time, by a stream and pinned memory of its own:
/// CUDA's copies of other memory would be copied twice, and may wait for the whole GPU.
class Copier {
 public:
  /// Of a GPU; the same until other libraries are named. Throws Error, std::runtime_error.
  static std::shared_ptr<Copier> of(int gpu) {
    Copiers& all = Copiers::of_process();
    const std::lock_guard lock(all.mutex);
    std::shared_ptr<Copier>& found = all.by_gpu[gpu];
    if (found == nullptr) found = std::make_shared<Copier>(gpu, all.runtime, all.driver);
    return found;
  }

  Copier(int gpu, const std::string& runtime, const std::string& driver)
      : gpu_(gpu),
        libraries_(std::make_unique<Libraries>(runtime, driver)),
        ipc_(libraries_->api.library(), libraries_->driver) {
    const auto turn = capture_turn();
    int count = 0;
    api().device_count(&count);
    if (gpu < 0 || gpu >= count)
      throw std::runtime_error("there is no GPU " + std::to_string(gpu) + " among " +
                               std::to_string(count));
    api().set_device(gpu_);
    api().stream_create(&stream_, stream_non_blocking, 0);
    void* memory = nullptr;
    api().host_allocate(&memory, staging_bytes, 0);
    staging_ = static_cast<char*>(memory);
  }

  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;
  ~Copier() {
    const auto turn = capture_turn();
    api().set_device.code(gpu_);
    api().stream_destroy.code(stream_);
    api().host_free.code(staging_);
  }

  /// Throws Error, std::length_error where there is less.
  char* open(const CudaHandle& handle, std::uint64_t bytes) {
    const auto turn = capture_turn();
    api().set_device(gpu_);
    void* memory = nullptr;
    ipc_.open(&memory, handle, open_lazily);
    unsigned long long begin = 0;
    std::size_t size = 0;
    const auto at = reinterpret_cast<unsigned long long>(memory);
    const int code = ipc_.range.code(&begin, &size, at);
    const std::uint64_t left =
        code == 0 && at >= begin && size >= at - begin ? size - (at - begin) : 0;
    if (bytes == 0 || bytes > left) {
      ipc_.close.code(memory);
      throw std::length_error(region_part(bytes, 0, left));
    }
    return static_cast<char*>(memory);
  }

  void close(char* memory) noexcept {
    const auto turn = capture_turn();
    if (api().set_device.code(gpu_) == 0) ipc_.close.code(memory);
  }

  void read(const char* memory, char* into, std::uint64_t bytes) {
    in_parts(bytes, [&](std::uint64_t done, std::size_t count) {
      copy(staging_, memory + done, count, device_to_host);
      std::memcpy(into + done, staging_, count);
    });
  }

  void write(char* memory, const char* from, std::uint64_t bytes) {
    in_parts(bytes, [&](std::uint64_t done, std::size_t count) {
      std::memcpy(staging_, from + done, count);
      copy(memory + done, staging_, count, host_to_device);
    });
  }

 private:
  struct Libraries {
    Libraries(const std::string& runtime, const std::string& path) : api(runtime), driver(path) {}
    Api api;
    DriverLibrary driver;
  };

  [[nodiscard]] const Api& api() const noexcept { return libraries_->api; }

  template <typename Part>
  void in_parts(std::uint64_t bytes, const Part& part) {
    const std::lock_guard lock(mutex_);
    const CaptureModeScope scope(api());
    api().set_device(gpu_);
    for (std::uint64_t done = 0; done < bytes;) {
      const std::size_t count = std::min<std::uint64_t>(staging_bytes, bytes - done);
      part(done, count);
      done += count;
    }
  }

  void copy(char* target, const char* source, std::size_t bytes, int kind) {
    api().copy_async(target, source, bytes, kind, stream_);
    api().stream_synchronize(stream_);
  }

  const int gpu_;
  const std::unique_ptr<Libraries> libraries_;
  const Ipc ipc_;
  std::mutex mutex_;  // of the copies
  StreamHandle stream_ = nullptr;
  char* staging_ = nullptr;
};

}  // namespace cuda

void use_cuda_of(const std::string& runtime, const std::string& driver) {
  std::map<int, std::shared_ptr<cuda::Copier>>
      before;  // ended without the lock, with their regions
  cuda::Copiers& all = cuda::Copiers::of_process();
  const std::lock_guard lock(all.mutex);
  if (all.runtime == runtime && all.driver == driver) return;
  all.runtime = runtime;
  all.driver = driver;
  before.swap(all.by_gpu);
}

CudaMemory::CudaMemory(const Region& region, const CudaHandle& handle) : name_(region.name) {
  const auto refuse = [&](RegionFault fault, const std::string& why) {
    throw RegionError(fault, "failed to register CUDA shared memory region: " +
                                 quoted_region(name_) + ", " + why);
  };
  try {
    copier_ = cuda::Copier::of(region.gpu);
  } catch (const std::exception& error) {
    refuse(RegionFault::no_gpu,
           "GPUs not supported; register system shared memory (" + std::string(error.what()) + ")");
  }
  try {
    memory_ = copier_->open(handle, region.bytes);
  } catch (const std::exception& error) {
    refuse(RegionFault::invalid, "invalid args: " + std::string(error.what()));
  }
}

CudaMemory::~CudaMemory() { copier_->close(memory_); }

template <typename Action>
void CudaMemory::told(Action&& action) const {
  try {
    action();
  } catch (const std::runtime_error& error) {
    throw RegionError(RegionFault::unreachable,
                      "CUDA shared memory region " + quoted_region(name_) + ": " + error.what());
  }
}

void CudaMemory::read(std::uint64_t offset, char* into, std::uint64_t bytes) const {
  told([&] { copier_->read(memory_ + offset, into, bytes); });
}

void CudaMemory::write(std::uint64_t offset, const char* from, std::uint64_t bytes) const {
  told([&] { copier_->write(memory_ + offset, from, bytes); });
}

}  // namespace engine
