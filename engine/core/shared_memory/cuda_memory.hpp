// Memory of a GPU that a client has allocated, in a process of its own.
#pragma once

#include <memory>

#include "shared_memory/regions.hpp"

namespace engine {

namespace cuda {
class Copier;
}

/// Opened by cudaIpcOpenMemHandle. What its maker frees stays until this is closed, as far as CUDA
/// says anything of it; a size beyond the allocation is refused.
class CudaMemory final : public RegionMemory {
 public:
  /// Throws RegionError.
  CudaMemory(const Region& region, const CudaHandle& handle);
  ~CudaMemory() override;

  void read(std::uint64_t offset, char* into, std::uint64_t bytes) const override;
  void write(std::uint64_t offset, const char* from, std::uint64_t bytes) const override;

 private:
  template <typename Action>
  void told(Action&& action) const;

  const std::string name_;
  std::shared_ptr<cuda::Copier> copier_;
  char* memory_ = nullptr;
};

/// Which libraries CUDA's functions are looked for in from now on: CUDA's runtime and its driver,
/// by their usual names where empty.
void use_cuda_of(const std::string& runtime, const std::string& driver);

}  // namespace engine
