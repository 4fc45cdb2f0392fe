// What cuda/api.hpp and cuda/driver.hpp say of CUDA's functions, against NVIDIA's own headers.
// Compiled, not run: test_cuda_headers.py.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <type_traits>

#include "devices/cuda/api.hpp"
#include "devices/cuda/driver.hpp"
#include "devices/cuda/ipc.hpp"

namespace {

using namespace engine::cuda;

/// Whether a value of one type can be handed over as the other: equally large, a pointer for a
/// pointer, a number or an enumeration for such.
template <typename Ours, typename Theirs>
constexpr bool passes_as() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using To = std::remove_cv_t<std::remove_pointer_t<Ours>>;
    using From = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
    constexpr bool is_opaque = std::is_class_v<To> || std::is_void_v<To>;
    if constexpr (is_opaque)
      return std::is_class_v<From> || std::is_void_v<From>;
    else if constexpr (std::is_void_v<From>)
      return false;
    else
      return passes_as<To, From>();
  } else {
    return std::is_scalar_v<Ours> && std::is_scalar_v<Theirs> && !std::is_pointer_v<Ours> &&
           !std::is_pointer_v<Theirs> &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs> &&
           sizeof(Ours) == sizeof(Theirs);
  }
}

template <typename Ours, typename Theirs>
struct Agree : std::false_type {};

template <typename... Ours, typename Status, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct Agree<Function<Ours...>, Status(Theirs...)>
    : std::bool_constant<sizeof(Status) == sizeof(int) && (passes_as<Ours, Theirs>() && ...)> {};

#define RUNTIME(member, name) static_assert(Agree<decltype(Api::member), decltype(name)>::value)
RUNTIME(runtime_version, cudaRuntimeGetVersion);
RUNTIME(device_count, cudaGetDeviceCount);
RUNTIME(set_device, cudaSetDevice);
RUNTIME(get_device, cudaGetDevice);
RUNTIME(can_access_peer, cudaDeviceCanAccessPeer);
RUNTIME(enable_peer_access, cudaDeviceEnablePeerAccess);
RUNTIME(bus_id, cudaDeviceGetPCIBusId);
RUNTIME(memory_info, cudaMemGetInfo);
RUNTIME(stream_create, cudaStreamCreateWithPriority);
RUNTIME(stream_destroy, cudaStreamDestroy);
RUNTIME(stream_query, cudaStreamQuery);
RUNTIME(stream_synchronize, cudaStreamSynchronize);
RUNTIME(stream_wait_event, cudaStreamWaitEvent);
RUNTIME(event_create, cudaEventCreateWithFlags);
RUNTIME(event_record, cudaEventRecord);
RUNTIME(event_query, cudaEventQuery);
RUNTIME(event_destroy, cudaEventDestroy);
RUNTIME(exchange_capture_mode, cudaThreadExchangeStreamCaptureMode);
RUNTIME(device_allocate, cudaMalloc);
RUNTIME(device_free, cudaFree);
RUNTIME(host_allocate, cudaHostAlloc);
RUNTIME(host_free, cudaFreeHost);
RUNTIME(copy_async, cudaMemcpyAsync);
RUNTIME(copy_peer_async, cudaMemcpyPeerAsync);
RUNTIME(stream_begin_capture, cudaStreamBeginCapture);
RUNTIME(stream_end_capture, cudaStreamEndCapture);
RUNTIME(stream_is_capturing, cudaStreamIsCapturing);
RUNTIME(graph_instantiate, cudaGraphInstantiate);
RUNTIME(graph_launch, cudaGraphLaunch);
RUNTIME(graph_destroy, cudaGraphDestroy);
RUNTIME(executable_destroy, cudaGraphExecDestroy);
RUNTIME(last_error, cudaGetLastError);
RUNTIME(device_reset, cudaDeviceReset);
static_assert(std::is_same_v<decltype(cudaGetErrorName), const char*(cudaError_t)>);

#define DRIVER(member, name) static_assert(Agree<decltype(Driver::member), decltype(name)>::value)
DRIVER(init, cuInit);
DRIVER(device_get, cuDeviceGet);
DRIVER(device_resource, cuDeviceGetDevResource);
DRIVER(split, cuDevSmResourceSplitByCount);
DRIVER(describe, cuDevResourceGenerateDesc);
DRIVER(context_create, cuGreenCtxCreate);
DRIVER(context_destroy, cuGreenCtxDestroy);
DRIVER(stream_create, cuGreenCtxStreamCreate);

static_assert(Agree<decltype(Ipc::close), decltype(cudaIpcCloseMemHandle)>::value);
static_assert(Agree<decltype(Ipc::range), decltype(cuMemGetAddressRange)>::value);
static_assert(std::is_same_v<decltype(cudaIpcOpenMemHandle),
                             cudaError_t(void**, cudaIpcMemHandle_t, unsigned)>);
static_assert(sizeof(IpcHandle) == sizeof(cudaIpcMemHandle_t));
static_assert(alignof(IpcHandle) == alignof(cudaIpcMemHandle_t));
static_assert(open_lazily == cudaIpcMemLazyEnablePeerAccess);

static_assert(sizeof(SmResource) == sizeof(CUdevResource));
static_assert(alignof(SmResource) >= alignof(CUdevResource));
static_assert(offsetof(SmResource, type) == offsetof(CUdevResource, type));
static_assert(offsetof(SmResource, count) == offsetof(CUdevResource, sm.smCount));
static_assert(sizeof(SmResource::count) == sizeof(CUdevSmResource::smCount));

static_assert(stream_non_blocking == cudaStreamNonBlocking);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(event_without_timing == cudaEventDisableTiming);
static_assert(host_to_device == cudaMemcpyHostToDevice);
static_assert(device_to_host == cudaMemcpyDeviceToHost);
static_assert(device_to_device == cudaMemcpyDeviceToDevice);
static_assert(capture_thread_local == cudaStreamCaptureModeThreadLocal);
static_assert(out_of_memory == cudaErrorMemoryAllocation);
static_assert(not_ready == cudaErrorNotReady);

}  // namespace
