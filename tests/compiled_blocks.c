/* Blocks of a model as compiled segments: Relu(x W + b), in two versions, and some that go wrong. */
#include <pthread.h>
#include <string.h>
#include <sys/select.h>

#include "surplus_segment.h"

enum { FLOAT = 1, MOST_LANES = 16, TILE = 8 };

int compiled_runs[2]; /* of each version, for tests to look at */

static const char* gemm_shapes(const SurplusTensor* in, SurplusTensor* out, size_t* workspace_bytes) {
  for (int i = 0; i < 3; ++i)
    if (in[i].elem_type != FLOAT) return "wants float tensors";
  if (in[0].rank != 2 || in[1].rank != 2 || in[0].dims[1] != in[1].dims[0])
    return "wants x[n, k], W[k, m], b[m]";
  out[0].elem_type = FLOAT;
  out[0].rank = 2;
  out[0].dims[0] = in[0].dims[0];
  out[0].dims[1] = in[1].dims[1];
  *workspace_bytes = (size_t)in[1].dims[1] * sizeof(float);
  return NULL;
}

typedef struct Rows {
  const float *x, *w, *b;
  float* y;
  int64_t first, end, k, m;
} Rows;

/* Narrow: one thread, row by row. */
static void* plain(void* argument) {
  const Rows* r = argument;
  for (int64_t i = r->first; i < r->end; ++i) {
    float* y = r->y + i * r->m;
    memcpy(y, r->b, (size_t)r->m * sizeof(float));
    for (int64_t p = 0; p < r->k; ++p)
      for (int64_t j = 0; j < r->m; ++j) y[j] += r->x[i * r->k + p] * r->w[p * r->m + j];
    for (int64_t j = 0; j < r->m; ++j) y[j] = y[j] > 0 ? y[j] : 0;
  }
  return NULL;
}

/* Wide: tiles of columns, so that a tile of W is used again by all rows of a thread. */
static void* tiled(void* argument) {
  const Rows* r = argument;
  for (int64_t tile = 0; tile < r->m; tile += TILE) {
    const int64_t end = tile + TILE < r->m ? tile + TILE : r->m;
    for (int64_t i = r->first; i < r->end; ++i)
      for (int64_t j = tile; j < end; ++j) {
        float sum = r->b[j];
        for (int64_t p = 0; p < r->k; ++p) sum += r->x[i * r->k + p] * r->w[p * r->m + j];
        r->y[i * r->m + j] = sum > 0 ? sum : 0;
      }
  }
  return NULL;
}

static Rows all_rows(const SurplusTensor* in, const SurplusTensor* out) {
  const Rows rows = {in[0].data, in[1].data,    in[2].data,   out[0].data,
                     0,          in[0].dims[0], in[0].dims[1], in[1].dims[1]};
  return rows;
}

static const char* run_narrow(const SurplusRun* run, const SurplusTensor* in,
                              const SurplusTensor* out) {
  (void)run;
  Rows rows = all_rows(in, out);
  __atomic_fetch_add(&compiled_runs[0], 1, __ATOMIC_RELAXED);
  plain(&rows);
  return NULL;
}

static const char* run_wide(const SurplusRun* run, const SurplusTensor* in,
                            const SurplusTensor* out) {
  const Rows all = all_rows(in, out);
  Rows parts[MOST_LANES];
  pthread_t threads[MOST_LANES];
  const int lanes = run->lanes < MOST_LANES ? run->lanes : MOST_LANES;
  int begun = 0;
  __atomic_fetch_add(&compiled_runs[1], 1, __ATOMIC_RELAXED);
  memset(run->workspace, 0, (size_t)all.m * sizeof(float)); /* ours to write */
  for (int i = 0; i < lanes; ++i) {
    parts[i] = all;
    parts[i].first = all.end * i / lanes;
    parts[i].end = all.end * (i + 1) / lanes;
  }
  while (begun < lanes - 1 && !pthread_create(&threads[begun], NULL, tiled, &parts[begun + 1]))
    ++begun;
  tiled(&parts[0]);
  for (int i = begun + 1; i < lanes; ++i) tiled(&parts[i]);
  for (int i = 0; i < begun; ++i) pthread_join(threads[i], NULL);
  return NULL;
}

int compiled_waiting, compiled_released; /* how many wait, heeding nothing, and whether they end */

static const char* run_deaf(const SurplusRun* run, const SurplusTensor* in,
                            const SurplusTensor* out) {
  __atomic_fetch_add(&compiled_waiting, 1, __ATOMIC_RELAXED);
  while (!__atomic_load_n(&compiled_released, __ATOMIC_RELAXED)) {
    struct timeval nap = {0, 1000};
    select(0, NULL, NULL, NULL, &nap);
  }
  __atomic_fetch_sub(&compiled_waiting, 1, __ATOMIC_RELAXED);
  return run_narrow(run, in, out);
}

static const char* run_failing(const SurplusRun* run, const SurplusTensor* in,
                               const SurplusTensor* out) {
  (void)run, (void)in, (void)out;
  return "out of luck";
}

static const char* run_inexact(const SurplusRun* run, const SurplusTensor* in,
                               const SurplusTensor* out) {
  run_narrow(run, in, out);
  *(float*)out[0].data += 1;
  return NULL;
}

static const char* too_large(const SurplusTensor* in, SurplusTensor* out, size_t* workspace_bytes) {
  const char* error = gemm_shapes(in, out, workspace_bytes);
  out[0].dims[1] += 1;
  return error;
}

const SurplusSegment gemm_narrow = {SURPLUS_SEGMENT_ABI, 3, 1, gemm_shapes, run_narrow, sizeof(SurplusSegment), NULL, NULL};
const SurplusSegment gemm_wide = {SURPLUS_SEGMENT_ABI, 3, 1, gemm_shapes, run_wide, sizeof(SurplusSegment), NULL, NULL};
const SurplusSegment gemm_deaf = {SURPLUS_SEGMENT_ABI, 3, 1, gemm_shapes, run_deaf, sizeof(SurplusSegment), NULL, NULL};
const SurplusSegment gemm_failing = {SURPLUS_SEGMENT_ABI, 3, 1, gemm_shapes, run_failing, sizeof(SurplusSegment), NULL, NULL};
const SurplusSegment gemm_inexact = {SURPLUS_SEGMENT_ABI, 3, 1, gemm_shapes, run_inexact, sizeof(SurplusSegment), NULL, NULL};
const SurplusSegment gemm_too_large = {SURPLUS_SEGMENT_ABI, 3, 1, too_large, run_narrow, sizeof(SurplusSegment), NULL, NULL};
const SurplusSegment of_tomorrow = {SURPLUS_SEGMENT_ABI + 1, 3, 1, gemm_shapes, run_narrow, sizeof(SurplusSegment), NULL, NULL};
