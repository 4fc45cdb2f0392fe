/* What is beneath compiled layers: packed constants, lanes, TVM's three calls back. */
#include "segment_runtime.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 16, TILE = 128, FLOAT = 1, DL_TENSOR = 7, SPINS = 20000 };
#define ALIGNMENT ((size_t)64)

/* The head of TVM's DLTensor, as far as its functions look. */
typedef struct DlTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
} DlTensor;

typedef struct ParallelEnv {
  void* sync;
  int32_t tasks;
} ParallelEnv;
typedef int (*ParallelBody)(int task, ParallelEnv* env, void* data);

/* Memory of one lane for what a layer allocates: given back in the reverse order. */
typedef struct Arena {
  char* base;
  size_t bytes, used, wanted;
} Arena;

typedef struct State State;
typedef struct Lane {
  State* state;
  int32_t number;
  Arena arena;
  pthread_t thread;
} Lane;

/* Lanes sleep between runs, and spin between the layers of one. */
struct State {
  const Block* block;
  char* packed;
  float** pack;
  int32_t lanes;
  Lane* lane;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  atomic_int running, quit;
  atomic_uint turn; /* of parallel loops */
  atomic_int left, failed;
  ParallelBody body;
  void* data;
};

static _Thread_local Lane* here; /* set only while a layer runs */

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void arena_begin(Arena* arena) {
  if (arena->wanted > arena->bytes) {
    free(arena->base);
    arena->base = aligned_alloc(ALIGNMENT, arena->wanted);
    arena->bytes = arena->base == NULL ? 0 : arena->wanted;
  }
  arena->used = arena->wanted = 0;
}

static void* allocate(int type, int device, uint64_t bytes, int code, int bits) {
  (void)type, (void)device, (void)code, (void)bits;
  Arena* arena = &here->arena;
  const size_t needed = rounded((size_t)bytes);
  arena->wanted += needed;
  if (arena->used + needed > arena->bytes) return aligned_alloc(ALIGNMENT, needed);
  void* found = arena->base + arena->used;
  arena->used += needed;
  return found;
}

static int release(int type, int device, void* memory) {
  (void)type, (void)device;
  Arena* arena = &here->arena;
  const char* place = memory;
  if (arena->base != NULL && place >= arena->base && place < arena->base + arena->bytes)
    arena->used = (size_t)(place - arena->base);
  else
    free(memory);
  return 0;
}

static void part(Lane* lane, ParallelBody body, void* data, int32_t tasks) {
  ParallelEnv env = {NULL, tasks};
  Lane* const before = here;
  here = lane;
  if (body(lane->number, &env, data) != 0)
    atomic_store_explicit(&lane->state->failed, 1, memory_order_relaxed); /* read behind `left` */
  here = before;
}

static void sleep_until_run(State* state) {
  pthread_mutex_lock(&state->mutex);
  while (!atomic_load_explicit(&state->running, memory_order_acquire) &&
         !atomic_load_explicit(&state->quit, memory_order_acquire))
    pthread_cond_wait(&state->changed, &state->mutex);
  pthread_mutex_unlock(&state->mutex);
}

static void* serve(void* argument) {
  Lane* lane = argument;
  State* state = lane->state;
  unsigned seen = 0;
  for (;;) {
    for (int spins = 0; atomic_load_explicit(&state->turn, memory_order_acquire) == seen; ++spins) {
      if (atomic_load_explicit(&state->quit, memory_order_acquire)) return NULL;
      if (!atomic_load_explicit(&state->running, memory_order_acquire)) sleep_until_run(state);
      if (spins > SPINS) sched_yield();
    }
    ++seen;
    part(lane, state->body, state->data, state->lanes);
    atomic_fetch_sub_explicit(&state->left, 1, memory_order_release);
  }
}

static int launch(ParallelBody body, void* data, int tasks) {
  (void)tasks;
  State* state = here->state;
  atomic_store_explicit(&state->failed, 0, memory_order_relaxed);
  if (state->lanes == 1) {
    part(here, body, data, 1);
    return -atomic_load_explicit(&state->failed, memory_order_relaxed);
  }
  state->body = body;
  state->data = data;
  atomic_store_explicit(&state->left, state->lanes - 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&state->turn, 1, memory_order_release);
  part(here, body, data, state->lanes);
  for (int spins = 0; atomic_load_explicit(&state->left, memory_order_acquire) > 0; ++spins)
    if (spins > SPINS) sched_yield();
  return -atomic_load_explicit(&state->failed, memory_order_relaxed);
}

/* What TVM's code calls through; it has these as weak symbols. */
int (*__TVMBackendParallelLaunch)(ParallelBody, void*, int) = launch;
void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = allocate;
int (*__TVMBackendFreeWorkspace)(int, int, void*) = release;

static void to_slices(const float* plain, float* sliced, int64_t channels, int64_t pixels) {
  for (int64_t slice = 0; slice * SLICE < channels; ++slice)
    for (int64_t at = 0; at < pixels; ++at)
      for (int64_t c = slice * SLICE, v = 0; v < SLICE; ++c, ++v)
        *sliced++ = c < channels ? plain[c * pixels + at] : 0;
}

static void from_slices(const float* sliced, float* plain, int64_t channels, int64_t pixels) {
  for (int64_t first = 0; first < channels; first += SLICE)
    for (int64_t place = 0; place < pixels; place += TILE) { /* as much as stays in the L1 cache */
      const float* from = sliced + first * pixels + place * SLICE;
      const int64_t count = pixels - place < TILE ? pixels - place : TILE;
      for (int64_t c = first; c < first + SLICE && c < channels; ++c)
        for (int64_t at = 0; at < count; ++at)
          plain[c * pixels + place + at] = from[at * SLICE + c - first];
    }
}

static int64_t slices(int64_t count) { return (count + SLICE - 1) / SLICE; }

static int64_t pack_elements(const Pack* p) {
  const int64_t outs = slices(p->outs) * SLICE;
  switch (p->kind) {
    case AS_IS:
      return p->outs;
    case CONVOLUTION:
      return outs * slices(p->ins) * SLICE * p->window;
    case DEPTHWISE:
      return outs * p->window;
    case DENSE:
      return outs * p->ins;
    default:
      return outs;
  }
}

/* Fills memory that is 0 before. */
static void pack(const Pack* p, const float* from, float* to) {
  switch (p->kind) {
    case ZEROS:
      return;
    case AS_IS:
    case PADDED:
      memcpy(to, from, (size_t)p->outs * sizeof(float));
      return;
    case CONVOLUTION: /* [out][in][window] to [out/16][in/16][window][in%16][out%16] */
      for (int64_t o = 0; o < p->outs; ++o)
        for (int64_t i = 0; i < p->ins; ++i)
          for (int64_t w = 0; w < p->window; ++w)
            to[((((o / SLICE) * slices(p->ins) + i / SLICE) * p->window + w) * SLICE + i % SLICE) *
                   SLICE +
               o % SLICE] = from[(o * p->ins + i) * p->window + w];
      return;
    case DEPTHWISE: /* [channel][window] to [channel/16][window][channel%16] */
      for (int64_t o = 0; o < p->outs; ++o)
        for (int64_t w = 0; w < p->window; ++w)
          to[((o / SLICE) * p->window + w) * SLICE + o % SLICE] = from[o * p->window + w];
      return;
    case DENSE: /* [in][out] to [out/16][in][out%16] */
      for (int64_t i = 0; i < p->ins; ++i)
        for (int64_t o = 0; o < p->outs; ++o)
          to[((o / SLICE) * p->ins + i) * SLICE + o % SLICE] = from[i * p->outs + o];
  }
}

static int64_t count_of(const SurplusTensor* tensor) {
  int64_t count = 1;
  for (int i = 0; i < tensor->rank; ++i) count *= tensor->dims[i];
  return count;
}

void surplus_destroy(void* argument) {
  State* state = argument;
  if (state == NULL) return;
  pthread_mutex_lock(&state->mutex);
  atomic_store_explicit(&state->quit, 1, memory_order_release);
  pthread_cond_broadcast(&state->changed);
  pthread_mutex_unlock(&state->mutex);
  for (int k = 0; k < state->lanes; ++k) {
    if (k > 0) pthread_join(state->lane[k].thread, NULL);
    free(state->lane[k].arena.base);
  }
  pthread_mutex_destroy(&state->mutex);
  pthread_cond_destroy(&state->changed);
  free(state->lane);
  free(state->pack);
  free(state->packed);
  free(state);
}

static const char* packed(State* state, const SurplusTensor* constants) {
  const Block* block = state->block;
  size_t bytes = ALIGNMENT;
  for (int i = 0; i < block->packs; ++i)
    bytes += rounded((size_t)pack_elements(&block->pack[i]) * sizeof(float));
  state->packed = aligned_alloc(ALIGNMENT, bytes);
  state->pack = calloc((size_t)block->packs + 1, sizeof(float*));
  if (state->packed == NULL || state->pack == NULL) return "no memory for packed constants";
  memset(state->packed, 0, bytes);
  char* place = state->packed;
  for (int i = 0; i < block->packs; ++i) {
    const Pack* p = &block->pack[i];
    state->pack[i] = (float*)place;
    place += rounded((size_t)pack_elements(p) * sizeof(float));
    if (p->kind == ZEROS) continue;
    const SurplusTensor* from = &constants[p->constant];
    const int64_t ins = p->kind == CONVOLUTION || p->kind == DENSE ? p->ins : 1;
    const int64_t window = p->kind == CONVOLUTION || p->kind == DEPTHWISE ? p->window : 1;
    if (from->elem_type != FLOAT || count_of(from) != p->outs * ins * window)
      return "a constant is of another type or size than when it was compiled";
    pack(p, from->data, state->pack[i]);
  }
  return NULL;
}

const char* surplus_create(const Block* block, int32_t lanes, const SurplusTensor* constants,
                           int32_t count, void** made) {
  if (count != block->constants) return "wants another number of constants";
  State* state = calloc(1, sizeof *state);
  if (state == NULL) return "no memory";
  state->block = block;
  pthread_mutex_init(&state->mutex, NULL);
  pthread_cond_init(&state->changed, NULL);
  state->lane = calloc((size_t)lanes, sizeof *state->lane);
  const char* error = state->lane == NULL ? "no memory" : packed(state, constants);
  for (int k = 0; error == NULL && k < lanes; ++k) {
    state->lane[k].state = state;
    state->lane[k].number = k;
    if (k > 0 && pthread_create(&state->lane[k].thread, NULL, serve, &state->lane[k]) != 0)
      error = "no thread for a lane";
    else
      state->lanes = k + 1;
  }
  if (error != NULL) {
    surplus_destroy(state);
    return error;
  }
  *made = state;
  return NULL;
}

const char* surplus_shapes(const Block* block, const SurplusTensor* in, SurplusTensor* out,
                           size_t* workspace_bytes) {
  const int64_t batch = block->inputs > 0 && in[0].rank > 0 ? in[0].dims[0] : 1;
  for (int i = 0; i < block->inputs; ++i) {
    const Tensor* own = &block->input[i];
    if (in[i].elem_type != FLOAT || in[i].rank != own->rank || in[i].dims[0] != batch)
      return "an input is of another type or rank than when it was compiled";
    for (int k = 1; k < own->rank; ++k)
      if (in[i].dims[k] != own->dims[k])
        return "an input is of another shape than when it was compiled";
    *workspace_bytes += rounded((size_t)own->bytes); /* for one that is not aligned */
  }
  for (int i = 0; i < block->outputs; ++i) {
    out[i].elem_type = FLOAT;
    out[i].rank = block->output[i].rank;
    memcpy(out[i].dims, block->output[i].dims, sizeof out[i].dims);
    out[i].dims[0] = batch;
  }
  for (int i = 0; i < block->buffers; ++i) *workspace_bytes += (size_t)block->buffer_bytes[i];
  return NULL;
}

/* Where the operands of one item are. */
typedef struct Item {
  const State* state;
  char *inputs[MOST_OPERANDS], *outputs[MOST_OPERANDS], *buffers;
} Item;

static void* address(const Item* item, Operand operand) {
  switch (operand.kind) {
    case OF_INPUT:
      return item->inputs[operand.index];
    case OF_OUTPUT:
      return item->outputs[operand.index];
    case OF_PACK:
      return item->state->pack[operand.index];
    default:
      break;
  }
  char* place = item->buffers;
  for (int i = 0; i < operand.index; ++i) place += item->state->block->buffer_bytes[i];
  return place;
}

static const char* do_step(const Item* item, const Step* step) {
  DlTensor tensors[MOST_OPERANDS];
  TvmAny arguments[MOST_OPERANDS], result = {0, 0, NULL};
  memset(tensors, 0, sizeof tensors);
  for (int i = 0; i < step->operands; ++i) {
    tensors[i].data = address(item, step->operand[i]);
    tensors[i].device_type = 1;
    arguments[i] = (TvmAny){DL_TENSOR, 0, &tensors[i]};
  }
  if (step->kind == TO_SLICES)
    to_slices(tensors[0].data, tensors[1].data, step->channels, step->pixels);
  else if (step->kind == FROM_SLICES)
    from_slices(tensors[0].data, tensors[1].data, step->channels, step->pixels);
  else if (step->function(NULL, arguments, step->operands, &result) != 0)
    return "a layer failed";
  return NULL;
}

static const char* run_item(const SurplusRun* run, State* state, const SurplusTensor* in,
                            const SurplusTensor* out, int64_t number) {
  const Block* block = state->block;
  Item item = {.state = state};
  char* free_place = run->workspace;
  for (int i = 0; i < block->inputs; ++i) {
    const size_t bytes = (size_t)block->input[i].bytes;
    item.inputs[i] = (char*)in[i].data + (size_t)number * bytes;
    if ((uintptr_t)item.inputs[i] % ALIGNMENT != 0)
      item.inputs[i] = memcpy(free_place, item.inputs[i], bytes);
    free_place += rounded(bytes);
  }
  for (int i = 0; i < block->outputs; ++i)
    item.outputs[i] = (char*)out[i].data + number * block->output[i].bytes;
  item.buffers = free_place;
  const char* error = NULL;
  for (int i = 0; error == NULL && i < block->steps; ++i) {
    if (run->is_cancelled(run)) return "cancelled";
    for (int k = 0; k < state->lanes; ++k) arena_begin(&state->lane[k].arena);
    error = do_step(&item, &block->step[i]);
  }
  return error;
}

const char* surplus_run(const Block* block, const SurplusRun* run, const SurplusTensor* in,
                        const SurplusTensor* out) {
  State* state = run->state;
  const int64_t batch = block->inputs > 0 ? in[0].dims[0] : 1;
  here = &state->lane[0];
  if (state->lanes > 1) {
    pthread_mutex_lock(&state->mutex);
    atomic_store_explicit(&state->running, 1, memory_order_release);
    pthread_cond_broadcast(&state->changed);
    pthread_mutex_unlock(&state->mutex);
  }
  const char* error = NULL;
  for (int64_t number = 0; error == NULL && number < batch; ++number)
    error = run_item(run, state, in, out, number);
  atomic_store_explicit(&state->running, 0, memory_order_release);
  here = NULL;
  return error;
}
