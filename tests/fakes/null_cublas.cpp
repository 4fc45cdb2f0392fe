// cuBLAS without arithmetic: what ONNX Runtime's CUDA provider calls of it. Each operation is a
// kernel that does nothing, on the stream of its handle.
#include <atomic>
#include <cstddef>

extern "C" int nullLaunch(void* stream);

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Handle {
  void* stream = nullptr;
  int math = 0;
};

static std::atomic<std::size_t> handles{0};

/// How many there are, for tests.
EXPORT std::size_t nullCublasHandles() { return handles.load(); }

EXPORT int cublasCreate_v2(Handle** handle) {
  *handle = new Handle;
  ++handles;
  return 0;
}
EXPORT int cublasDestroy_v2(Handle* handle) {
  delete handle;
  --handles;
  return 0;
}
EXPORT int cublasSetStream_v2(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}
/// What the last call left a handle at; 0 is cuBLAS' own. And how many calls there were.
static std::atomic<int> last_math{0};
static std::atomic<std::size_t> math_calls{0};
EXPORT int nullCublasMath() { return last_math.load(); }
EXPORT std::size_t nullCublasMathCalls() { return math_calls.load(); }

EXPORT int cublasSetMathMode(Handle* handle, int math) {
  handle->math = math;
  last_math = math;
  ++math_calls;
  return 0;
}
EXPORT int cublasGetMathMode(Handle* handle, int* math) {
  *math = handle->math;
  return 0;
}
EXPORT const char* cublasGetStatusName(int) { return "a status of the null cuBLAS"; }
EXPORT const char* cublasGetStatusString(int) { return "a status of the null cuBLAS"; }

/// The further arguments are not looked at.
#define OPERATION(name) \
  EXPORT int name(Handle* handle) { return nullLaunch(handle->stream); }
OPERATION(cublasDgeam)
OPERATION(cublasDgemmBatched)
OPERATION(cublasDgemmStridedBatched)
OPERATION(cublasDgemm_v2)
OPERATION(cublasDgetrfBatched)
OPERATION(cublasDgetriBatched)
OPERATION(cublasGemmBatchedEx)
OPERATION(cublasGemmEx)
OPERATION(cublasGemmStridedBatchedEx)
OPERATION(cublasScopy_v2)
OPERATION(cublasSgeam)
OPERATION(cublasSgemmBatched)
OPERATION(cublasSgemmStridedBatched)
OPERATION(cublasSgemm_v2)
OPERATION(cublasSgetrfBatched)
OPERATION(cublasSgetriBatched)
OPERATION(cublasSscal_v2)
