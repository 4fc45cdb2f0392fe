// cuBLASLt without arithmetic: what ONNX Runtime's CUDA provider calls of it.
#include <cstddef>
#include <cstdint>

extern "C" int nullLaunch(void* stream);

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cublasLtCreate(void** handle) {
  *handle = new int;
  return 0;
}
EXPORT int cublasLtDestroy(int* handle) {
  delete handle;
  return 0;
}

#define DESCRIPTOR(name)                 \
  EXPORT int name##Create(void** made) { \
    *made = new int;                     \
    return 0;                            \
  }                                      \
  EXPORT int name##Destroy(int* made) {  \
    delete made;                         \
    return 0;                            \
  }                                      \
  EXPORT int name##SetAttribute() { return 0; }
DESCRIPTOR(cublasLtMatmulDesc)
DESCRIPTOR(cublasLtMatmulPreference)
DESCRIPTOR(cublasLtMatrixLayout)
DESCRIPTOR(cublasLtMatrixTransformDesc)

EXPORT int cublasLtMatmulAlgoInit() { return 0; }
EXPORT int cublasLtMatmulAlgoConfigSetAttribute() { return 0; }

/// cublasLtMatmulHeuristicResult_t.
struct HeuristicResult {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int,
                                          HeuristicResult* results, int* count) {
  *results = {};
  *count = 1;
  return 0;
}

EXPORT int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*,
                          const void*, const void*, void*, const void*, void*, const void*, void*,
                          std::size_t, void* stream) {
  return nullLaunch(stream);
}
EXPORT int cublasLtMatrixTransform(void*, void*, const void*, const void*, void*, const void*,
                                   const void*, void*, void*, void*, void* stream) {
  return nullLaunch(stream);
}
