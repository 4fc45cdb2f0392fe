// What ONNX Runtime's CUDA provider needs of CUDA's runtime beside what our core uses
// (engine/core/tests/fake_cuda.cpp, with which this makes one library). Kernels do nothing: they
// are counted, and take their place in their stream.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstring>

#include "fake_cuda.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

[[maybe_unused]] const bool is_null = (fakeCudaNull(true), true);

cudaError_t launch(cudaStream_t stream) {
  return static_cast<cudaError_t>(fakeCudaLaunch(stream, nullptr, 0, [](void*) {}, nullptr));
}

struct LaunchShape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};
thread_local LaunchShape pushed;

cudaError_t wait_for_all(const char* function) {
  return static_cast<cudaError_t>(fakeCudaWaitForAll(function));
}

}  // namespace

/// A kernel of cuBLAS or cuDNN.
EXPORT int nullLaunch(void* stream) { return launch(static_cast<cudaStream_t>(stream)); }

// What nvcc makes of a kernel: registered when the library is loaded, launched by its address.

EXPORT void** __cudaRegisterFatBinary(void* code) { return new void*(code); }
EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
EXPORT void __cudaUnregisterFatBinary(void** handle) { delete handle; }
EXPORT void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*,
                                   void*, void*, int*) {}
EXPORT void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                            cudaStream_t stream) {
  pushed = {grid, block, shared_bytes, stream};
  return 0;
}

EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                              void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared_bytes = pushed.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = pushed.stream;
  return cudaSuccess;
}

EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t,
                                      cudaStream_t stream) {
  return launch(stream);
}
EXPORT cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t,
                                    cudaStream_t stream) {
  return launch(stream);
}
EXPORT cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, std::size_t,
                                               cudaStream_t stream) {
  return launch(stream);
}
EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void**) {
  return launch(config->stream);
}
EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return static_cast<cudaError_t>(fakeCudaLaunchHost(stream, function, argument));
}

EXPORT cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void*, cudaJitOption*, void**,
                                       unsigned, cudaLibraryOption*, void**, unsigned) {
  *library = nullptr;
  return cudaSuccess;
}
EXPORT cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaSuccess; }
EXPORT cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t, const char*) {
  static char any;
  *kernel = reinterpret_cast<cudaKernel_t>(&any);
  return cudaSuccess;
}
EXPORT cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
  return cudaSuccess;
}
EXPORT cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  return cudaSuccess;
}
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                          int, std::size_t,
                                                                          unsigned) {
  *blocks = 8;
  return cudaSuccess;
}

// The device: an H200's figures, of which the provider asks some.

EXPORT cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  std::memset(p, 0, sizeof *p);
  std::strcpy(p->name, "null");
  p->totalGlobalMem = std::size_t{141} << 30;
  p->major = 9;
  p->warpSize = 32;
  p->multiProcessorCount = 132;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = p->totalConstMem = 65535;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = 227 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->l2CacheSize = 50 << 20;
  p->asyncEngineCount = 3;
  p->unifiedAddressing = p->concurrentKernels = p->cooperativeLaunch = 1;
  return cudaSuccess;
}

EXPORT cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = p.maxGridSize[0];
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(p.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrCooperativeLaunch:
      *value = p.cooperativeLaunch;
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}

EXPORT const char* cudaGetErrorString(cudaError_t code) { return cudaGetErrorName(code); }
EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                    unsigned long long,
                                                    cudaDriverEntryPointQueryResult* result) {
  *function = dlsym(RTLD_DEFAULT, name);
  if (result != nullptr)
    *result =
        *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

// Streams and events: as those of our core, which are non-blocking and without timing.

EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
EXPORT cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}
EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}
EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
EXPORT cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 1;
  return cudaSuccess;
}
EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return wait_for_all("cudaEventSynchronize");
}
EXPORT cudaError_t cudaDeviceSynchronize() { return wait_for_all("cudaDeviceSynchronize"); }

// Memory.

EXPORT cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaHostAlloc(memory, bytes, 0);
}
EXPORT cudaError_t cudaFreeAsync(void* memory, cudaStream_t) { return cudaFree(memory); }
EXPORT cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t,
                                           cudaStream_t) {
  return cudaMalloc(memory, bytes);
}
EXPORT cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = nullptr;
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
EXPORT cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }

EXPORT cudaError_t cudaMemcpy(void* target, const void* source, std::size_t bytes,
                              cudaMemcpyKind kind) {
  if (const cudaError_t code = cudaMemcpyAsync(target, source, bytes, kind, nullptr); code != 0)
    return code;
  return cudaStreamSynchronize(nullptr);
}
EXPORT cudaError_t cudaMemcpy2DAsync(void*, std::size_t, const void*, std::size_t, std::size_t,
                                     std::size_t, cudaMemcpyKind, cudaStream_t stream) {
  return launch(stream);
}
EXPORT cudaError_t cudaMemcpyFromSymbol(void* target, const void*, std::size_t bytes, std::size_t,
                                        cudaMemcpyKind) {
  std::memset(target, 0, bytes);
  return wait_for_all("cudaMemcpyFromSymbol");
}
EXPORT cudaError_t cudaMemsetAsync(void* target, int, std::size_t bytes, cudaStream_t stream) {
  const FakeCudaAccess access{target, bytes, true};
  const std::size_t count = bytes == 0 ? 0 : 1;
  return static_cast<cudaError_t>(fakeCudaLaunch(stream, &access, count, [](void*) {}, nullptr));
}
EXPORT cudaError_t cudaMemset(void* target, int value, std::size_t bytes) {
  return cudaMemsetAsync(target, value, bytes, nullptr);
}
EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  *attributes = {};
  attributes->type = cudaMemoryTypeDevice;
  attributes->devicePointer = const_cast<void*>(memory);
  return cudaSuccess;
}
EXPORT cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
