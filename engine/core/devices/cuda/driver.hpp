// The few functions of CUDA's driver that its runtime has no name for: partitions of a GPU's SMs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/cuda/api.hpp"

namespace engine::cuda {

/// CUdevResource: which SMs. Only its size and its count are ours to know; since CUDA 13.1 it ends
/// with a pointer to a further one, which must be null.
struct alignas(8) SmResource {
  int type = 0;
  unsigned char padding[92] = {};
  unsigned count = 0;
  unsigned char rest[44] = {};
};
static_assert(sizeof(SmResource) == 144);

using DescriptionHandle = struct OpaqueDescription*;    ///< CUdevResourceDesc
using GreenContextHandle = struct OpaqueGreenContext*;  ///< CUgreenCtx

/// libcuda.so, opened at run time; its functions as CUDA 12.5 had them, whatever came later.
class DriverLibrary final : public Library {
 public:
  /// `path`, or the driver's usual name if it is empty. Throws std::runtime_error.
  explicit DriverLibrary(const std::string& path);
  /// Throws std::runtime_error naming a function that the driver is too old for.
  [[nodiscard]] void* symbol(const char* name) const override;
  [[nodiscard]] Error error(int code, const char* call) const override;
};

/// Immutable, thread-safe. Its errors are CUresults, which are not those of the runtime.
class Driver {
 private:
  DriverLibrary library_;  // first: the initialisers below read it

 public:
  explicit Driver(const std::string& path) : library_(path) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  Function<unsigned> init{library_, "cuInit"};
  Function<int*, int> device_get{library_, "cuDeviceGet"};
  Function<int, SmResource*, int> device_resource{library_, "cuDeviceGetDevResource"};
  Function<SmResource*, unsigned*, const SmResource*, SmResource*, unsigned, unsigned> split{
      library_, "cuDevSmResourceSplitByCount"};
  Function<DescriptionHandle*, SmResource*, unsigned> describe{library_,
                                                               "cuDevResourceGenerateDesc"};
  Function<GreenContextHandle*, DescriptionHandle, int, unsigned> context_create{
      library_, "cuGreenCtxCreate"};
  Function<GreenContextHandle> context_destroy{library_, "cuGreenCtxDestroy"};
  Function<StreamHandle*, GreenContextHandle, unsigned, int> stream_create{
      library_, "cuGreenCtxStreamCreate"};
};

/// A GPU's SMs divided into disjoint groups, each a green context. Work goes to one by a stream of
/// it alone: the primary context stays current. Destroyed after those streams.
class Partitions {
 public:
  /// `sms` of each; the driver rounds up. The primary context must be there. Throws
  /// std::runtime_error if the GPU or the driver cannot.
  Partitions(std::shared_ptr<const Driver> driver, int ordinal, const std::vector<unsigned>& sms);
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;
  ~Partitions();

  /// A non-blocking stream whose work stays on the partition's SMs. Throws Error.
  [[nodiscard]] StreamHandle make_stream(std::size_t partition) const;
  /// How many SMs it has got.
  [[nodiscard]] unsigned sms(std::size_t partition) const noexcept { return rows_[partition].sms; }

 private:
  struct Row {
    unsigned sms = 0;
    GreenContextHandle context = nullptr;
  };

  void make(int device, SmResource& left, unsigned sms, Row& row) const;

  const std::shared_ptr<const Driver> driver_;
  std::vector<Row> rows_;
};

}  // namespace engine::cuda
