// ONNX Runtime's memory on a GPU and pinned for it: what its sessions allocate of either comes from
// our devices' pools.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "devices/cuda/kernel.hpp"
#include "ort/runtime.hpp"

namespace engine::ort {

/// The provider's own arena may not be shared by sessions on several streams: it forgets at the end
/// of a run which stream still uses a block. Our pools know.
///
/// Its arena of pinned memory ends the process: what a kernel has sent from there the session frees
/// in a host function of its stream, at the latest when it is destroyed; then that function is the
/// arena's last owner and frees memory of CUDA, which no host function may. Of an allocator that is
/// no arena it waits for the stream and frees at once. Thread-safe.
class CudaAllocator {
 public:
  enum class Place { device, pinned };

  /// That of a GPU's memory: registered with ONNX Runtime at the first call, with the one of memory
  /// pinned for it, then both are there as long as the process. Throws std::runtime_error with ONNX
  /// Runtime's reason.
  [[nodiscard]] static CudaAllocator& of(int ordinal);

  /// As long as it lives, what sessions allocate on this thread is memory of that launch, and
  /// pinned memory that they free is the launch's to keep: its stream may still read it. Outside of
  /// one they get none. One at a time on a thread.
  class Scope {
   public:
    explicit Scope(cuda::Launch& launch) noexcept { current_ = &launch; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { current_ = nullptr; }
  };

  /// Where a GPU's tensors lie, for bindings and initializers.
  [[nodiscard]] const OrtMemoryInfo* info() const noexcept { return info_.get(); }
  /// Whether the address lies in memory that sessions have from here.
  [[nodiscard]] bool holds(const void* address) const;

 private:
  struct Registered : OrtAllocator {
    CudaAllocator* owner = nullptr;
  };

  CudaAllocator(int ordinal, Place place);
  void* allocate(std::size_t bytes);
  void release(void* block) noexcept;

  static thread_local cuda::Launch* current_;

  const Place place_;
  const Handle<OrtMemoryInfo> info_;
  Registered registered_;
  mutable std::mutex mutex_;  // guards the next two
  std::map<const std::byte*, std::pair<cuda::Memory, std::size_t>> blocks_;
  std::vector<cuda::Memory> kept_;  ///< of lost devices: never given back
};

}  // namespace engine::ort
