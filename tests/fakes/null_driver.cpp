// CUDA's driver as one asks for its GPUs, and what the provider links to. Green contexts are the
// runtime's (engine/core/tests/fake_cuda.cpp), to which this links.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" int cudaMemGetInfo(std::size_t* free, std::size_t* total);

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cuInit(unsigned) { return 0; }
EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
EXPORT int cuDeviceGetCount(int* count) {
  const char* const text = std::getenv("FAKE_GPUS");
  *count = text == nullptr ? 1 : std::atoi(text);
  return 0;
}
EXPORT int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
EXPORT int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "Null GPU, computes nothing");
  return 0;
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{141} << 30;
  return 0;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int sms = 16, major = 75;
  *value = attribute == sms ? 132 : attribute == major ? 9 : 0;
  return 0;
}
EXPORT int cuGetErrorName(int, const char** name) {
  *name = nullptr;
  return 1;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  static char primary;
  *context = &primary;
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void*) { return 0; }
EXPORT int cuCtxPopCurrent_v2(void**) { return 0; }
EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return cudaMemGetInfo(free, total);
}
EXPORT int cuTensorMapEncodeTiled() { return 0; }
