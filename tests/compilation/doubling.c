/* A layer as TVM would call it: y = x * w, its rows shared out over the lanes, each by way of
 * memory that it asks for. */
#include <stdint.h>
#include <string.h>

enum { ROWS = 6, COLUMNS = 16 };

typedef struct Any {
  int32_t type, zero;
  void* value;
} Any;
typedef struct Env {
  void* sync;
  int32_t tasks;
} Env;
typedef struct Rows {
  const float *x, *w;
  float* y;
} Rows;

extern int (*__TVMBackendParallelLaunch)(int (*)(int, Env*, void*), void*, int);
extern void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
extern int (*__TVMBackendFreeWorkspace)(int, int, void*);

static int body(int task, Env* env, void* data) {
  const Rows* rows = data;
  for (int i = task; i < ROWS; i += env->tasks) {
    float* row = __TVMBackendAllocWorkspace(1, 0, COLUMNS * sizeof(float), 2, 32);
    float* copy = __TVMBackendAllocWorkspace(1, 0, COLUMNS * sizeof(float), 2, 32);
    if ((uintptr_t)row % 64 || (uintptr_t)copy % 64 || row == copy) return -1;
    for (int j = 0; j < COLUMNS; ++j) row[j] = rows->x[i * COLUMNS + j] * rows->w[j];
    memcpy(copy, row, COLUMNS * sizeof(float));
    memcpy(rows->y + i * COLUMNS, copy, COLUMNS * sizeof(float));
    __TVMBackendFreeWorkspace(1, 0, copy);
    __TVMBackendFreeWorkspace(1, 0, row);
  }
  return 0;
}

static void* data_of(const Any* argument) { return *(void**)argument->value; }

int32_t __tvm_ffi_doubling(void* self, const Any* arguments, int32_t count, Any* result) {
  (void)self, (void)result;
  Rows rows = {data_of(&arguments[0]), data_of(&arguments[1]), data_of(&arguments[2])};
  if (count != 3 || (uintptr_t)rows.x % 64 || (uintptr_t)rows.w % 64) return -1;
  return __TVMBackendParallelLaunch(body, &rows, 0);
}

/* Of the last of the lanes. */
static int failing(int task, Env* env, void* data) {
  (void)data;
  return task == env->tasks - 1 ? -1 : 0;
}

int32_t __tvm_ffi_failing(void* self, const Any* arguments, int32_t count, Any* result) {
  (void)self, (void)arguments, (void)count, (void)result;
  return __TVMBackendParallelLaunch(failing, 0, 0);
}
