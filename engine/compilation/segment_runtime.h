/* Blocks of layers that TVM compiled, as segments of the engine. Plain C11; no TVM is needed to
 * run. A block is a list of steps over buffers; `surplus_*` below are what a generated file's
 * segments call.
 */
#ifndef SURPLUS_SEGMENT_RUNTIME_H
#define SURPLUS_SEGMENT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "surplus_segment.h"

enum { MOST_OPERANDS = 12 };

/* TVM's calling convention: the data pointers of DLTensors are all that its functions read. */
typedef struct TvmAny {
  int32_t type, zero;
  void* value;
} TvmAny;
typedef int32_t (*TvmFunction)(void* self, const TvmAny* arguments, int32_t count, TvmAny* result);

/* Where a step's operand lies, and at which of them. */
enum OperandKind { OF_INPUT, OF_OUTPUT, OF_PACK, OF_BUFFER };
typedef struct Operand {
  int32_t kind, index;
} Operand;

/* NCHW to slices of 16 channels that lie together, and back; the rest is TVM's. */
enum StepKind { CALL, TO_SLICES, FROM_SLICES };
typedef struct Step {
  int32_t kind;
  TvmFunction function;
  int32_t operands;
  Operand operand[MOST_OPERANDS]; /* the output is the last one */
  int32_t channels, pixels;       /* of TO_SLICES and FROM_SLICES */
} Step;

/* How a constant is laid out for a layer. */
enum PackKind { AS_IS, PADDED, CONVOLUTION, DEPTHWISE, DENSE, ZEROS };
typedef struct Pack {
  int32_t kind, constant;
  int64_t outs, ins, window; /* elements; of PADDED and ZEROS outs alone, of DENSE no window */
} Pack;

typedef struct Tensor {
  int32_t rank;
  int64_t dims[SURPLUS_MAX_RANK]; /* the first one is the batch, 1 */
  int64_t bytes;                  /* of an item */
} Tensor;

typedef struct Block {
  int32_t inputs, outputs, constants, packs, buffers, steps;
  const Tensor *input, *output;
  const Pack* pack;
  const int64_t* buffer_bytes; /* multiples of 64 */
  const Step* step;
} Block;

const char* surplus_shapes(const Block*, const SurplusTensor*, SurplusTensor*, size_t*);
const char* surplus_run(const Block*, const SurplusRun*, const SurplusTensor*,
                        const SurplusTensor*);
const char* surplus_create(const Block*, int32_t lanes, const SurplusTensor*, int32_t,
                           void** state);
void surplus_destroy(void* state);

#endif
