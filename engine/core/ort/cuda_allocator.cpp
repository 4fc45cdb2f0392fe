#include "ort/cuda_allocator.hpp"

#include <stdexcept>

namespace engine::ort {

thread_local cuda::Launch* CudaAllocator::current_ = nullptr;

CudaAllocator& CudaAllocator::of(int ordinal) {
  static std::mutex mutex;
  // Never destroyed: ONNX Runtime holds them until the process ends.
  static auto* const all = new std::map<int, CudaAllocator*>;
  const std::lock_guard lock(mutex);
  CudaAllocator*& found = (*all)[ordinal];
  if (found == nullptr) {
    static_cast<void>(new CudaAllocator(ordinal, Place::pinned));
    found = new CudaAllocator(ordinal, Place::device);
  }
  return *found;
}

CudaAllocator::CudaAllocator(int ordinal, Place place)
    : place_(place),
      info_(create<OrtMemoryInfo>(api().create_memory_info,
                                  place == Place::device ? "Cuda" : "CudaPinned", kDeviceAllocator,
                                  ordinal,
                                  place == Place::device ? kMemTypeDefault : kMemTypeCpuOutput)) {
  // Exceptions pass through ONNX Runtime, whose own GPU allocator throws, too: a null pointer
  // would only be found by the kernel that writes to it.
  const auto allocate = [](OrtAllocator* self, std::size_t bytes) {
    return static_cast<Registered*>(self)->owner->allocate(bytes);
  };
  registered_.version = OrtAllocator::kStreamVersion;
  registered_.Alloc = allocate;
  registered_.Reserve = allocate;
  // A session has one stream, its lane's, and the launch says which.
  registered_.AllocOnStream = [](OrtAllocator* self, std::size_t bytes, OrtSyncStream*) {
    return static_cast<Registered*>(self)->owner->allocate(bytes);
  };
  registered_.Free = [](OrtAllocator* self, void* block) {
    static_cast<Registered*>(self)->owner->release(block);
  };
  registered_.Info = [](const OrtAllocator* self) {
    return static_cast<const Registered*>(self)->owner->info();
  };
  registered_.owner = this;
  check(api().register_allocator(Runtime::get().env(), &registered_));
}

void* CudaAllocator::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (current_ == nullptr)
    throw std::logic_error("a session allocates GPU memory outside of any launch");
  cuda::Memory memory =
      place_ == Place::device ? current_->allocate(bytes) : current_->allocate_pinned(bytes);
  void* const block = memory.get();
  const std::lock_guard lock(mutex_);
  auto& [held, size] = blocks_[static_cast<const std::byte*>(block)];
  // After a reset of CUDA, addresses of sessions that were kept for good come again.
  if (held != nullptr) kept_.push_back(std::move(held));
  held = std::move(memory);
  size = bytes;
  return block;
}

void CudaAllocator::release(void* block) noexcept {
  if (block == nullptr) return;
  cuda::Memory last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<const std::byte*>(block));
    if (found == blocks_.end()) return;
    last = std::move(found->second.first);
    blocks_.erase(found);
  }
  if (place_ == Place::pinned && current_ != nullptr) current_->keep(std::move(last));
}

bool CudaAllocator::holds(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mutex_);
  auto next = blocks_.upper_bound(byte);
  if (next == blocks_.begin()) return false;
  --next;
  return byte < next->first + next->second.second;
}

}  // namespace engine::ort
