// ONNX Runtime's memory on a GPU: what its sessions allocate there comes from our devices' pools.
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
/// of a run which stream still uses a block. Our pools know. Thread-safe.
class CudaAllocator {
 public:
  /// That of a GPU: registered with ONNX Runtime at the first call, then there as long as the
  /// process. Throws std::runtime_error with ONNX Runtime's reason.
  [[nodiscard]] static CudaAllocator& of(int ordinal);

  /// As long as it lives, what sessions allocate on this thread is memory of that launch. Outside
  /// of one they get none. One at a time on a thread.
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

  explicit CudaAllocator(int ordinal);
  void* allocate(std::size_t bytes);
  void release(void* block) noexcept;

  static thread_local cuda::Launch* current_;

  const Handle<OrtMemoryInfo> info_;
  Registered registered_;
  mutable std::mutex mutex_;  // guards the next two
  std::map<const std::byte*, std::pair<cuda::Memory, std::size_t>> blocks_;
  std::vector<cuda::Memory> kept_;  ///< of lost devices: never given back
};

}  // namespace engine::ort
