// cuBLAS without arithmetic: what ONNX Runtime's CUDA provider calls of it. Each operation is a
// kernel that does nothing, on the stream of its handle.
extern "C" int nullLaunch(void* stream);

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Handle {
  void* stream = nullptr;
  int math = 0;
};

EXPORT int cublasCreate_v2(Handle** handle) {
  *handle = new Handle;
  return 0;
}
EXPORT int cublasDestroy_v2(Handle* handle) {
  delete handle;
  return 0;
}
EXPORT int cublasSetStream_v2(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}
EXPORT int cublasSetMathMode(Handle* handle, int math) {
  handle->math = math;
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
