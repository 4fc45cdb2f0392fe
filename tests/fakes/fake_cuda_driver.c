/* A CUDA driver with as many GPUs as FAKE_GPUS says; cuInit fails with FAKE_CUINIT, never returns
   where that is -1, and crashes where it is -2. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int number(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text ? atoi(text) : otherwise;
}

int cuInit(unsigned flags) {
  const int code = number("FAKE_CUINIT", 0);
  while (code == -1) pause();
  if (code == -2) abort();
  return code;
}
int cuDriverGetVersion(int* version) { return *version = 13020, 0; }
int cuDeviceGetCount(int* count) { return *count = number("FAKE_GPUS", 1), 0; }
int cuDeviceGet(int* device, int index) { return *device = 40 + index, 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { return *bytes = (size_t)141 << 30, 0; }

int cuDeviceGetName(char* name, int size, int device) {
  return snprintf(name, size, "Fake GPU %d", device - 40), 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 16 ? 132 : attribute == 75 ? 9 : attribute == 76 ? 0 : -1;
  return 0;
}

int cuGetErrorName(int code, const char** name) {
  return *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : NULL, code != 100;
}

static int device_of_context, contexts;

int cuDevicePrimaryCtxRetain(void** context, int device) {
  device_of_context = device;
  return *context = &contexts, 0;
}

int cuCtxPushCurrent_v2(void* context) { return contexts++, context != &contexts; }
int cuCtxPopCurrent_v2(void** context) { return contexts--, 0; }

/* Of GPU i, i + 1 MiB of 10 are used; without a current context there is no answer. */
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = 10 << 20;
  *free = *total - ((size_t)(device_of_context - 39) << 20);
  return contexts == 1 ? 0 : 201;
}

/* What the fake of CUDA's runtime has of the driver, where that is loaded. */
int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                        int* status) {
  *function = dlsym(RTLD_DEFAULT, name);
  return *function ? 0 : 500;
}
