/* A compiled segment of a model: what a shared library exports, and the engine runs on CPU lanes
 * instead of an ONNX Runtime session. Plain C (C99); docs/COLOCATION.md shows one in use. */
#ifndef SURPLUS_SEGMENT_H
#define SURPLUS_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SURPLUS_SEGMENT_ABI 2
#define SURPLUS_MAX_RANK 8

/* A dense tensor in row-major order. */
typedef struct SurplusTensor {
  void* data;        /* never null, aligned to its element; outputs and workspaces to 64 bytes */
  int32_t elem_type; /* ONNX: TensorProto.DataType, 1 is float; no strings, no 4 bits */
  int32_t rank;      /* 0 to SURPLUS_MAX_RANK */
  int64_t dims[SURPLUS_MAX_RANK];
} SurplusTensor;

/* One run, as the engine sees it. */
typedef struct SurplusRun {
  int32_t lanes;      /* threads that may be busy, the caller's included; >= 1 */
  void* workspace;    /* as many bytes as were asked for, of undefined contents */
  const void* engine; /* for is_cancelled */
  int32_t (*is_cancelled)(const struct SurplusRun*); /* not 0: return soon, with any error */
  void* state; /* what create() made; no other run has it meanwhile. Since version 2 */
} SurplusRun;

/* The exported symbol: an object of this type, under any name.
 *
 * Functions return null, or why they failed: UTF-8 that stays valid until the same thread
 * calls again. They are called from many threads at once, inputs may be read by others meanwhile:
 * keep nothing between calls but in the state, write to outputs, workspace and state only, and keep
 * no pointer but to constants. They must not throw, jump or exit. Threads of their own must sleep,
 * not spin, once run() has returned.
 *
 * A segment of version 1 ends with run(), and is taken, too. */
typedef struct SurplusSegment {
  int32_t abi;             /* SURPLUS_SEGMENT_ABI */
  int32_t inputs, outputs; /* how many; constants of the model count as inputs */
  /* Checks the inputs' types and shapes; fills type, rank and dims of each output, and how large a
   * workspace run() needs (0 on entry). May not read data. */
  const char* (*shapes)(const SurplusTensor* inputs, SurplusTensor* outputs,
                        size_t* workspace_bytes);
  /* Fills the outputs, which the engine has allocated. */
  const char* (*run)(const SurplusRun* run, const SurplusTensor* inputs,
                     const SurplusTensor* outputs);
  size_t struct_size; /* sizeof(SurplusSegment): what is behind it is not looked for */
  /* Makes a state: packed weights, buffers, handles; null where there is none, as is destroy().
   * There is one when the model is loaded, and as many as lanes have run the segment side by side.
   * `constants` are the last of the inputs, `count` of them, and stay where they are until the
   * state is destroyed. A state stays with no thread. */
  const char* (*create)(int32_t lanes, const SurplusTensor* constants, int32_t count, void** state);
  void (*destroy)(void* state);
} SurplusSegment;

#ifdef __cplusplus
}
#endif

#endif
