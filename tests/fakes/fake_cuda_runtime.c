/* A CUDA runtime with a clock of its own: pinned copies take 1 us + 10 bytes/ns, pageable ones 5 us
   + 2 bytes/ns. Each stream is as far as its copies take; nothing goes on by itself. */
#include <stdlib.h>
#include <string.h>

static double streams[64], events[64];
static int used_streams, used_events;
static struct { char* begin; size_t bytes; int pinned; } blocks[64];
static int alive;

int fakeAlive(void) { return alive; }

static int take(void** made, size_t bytes, int pinned) {
  *made = calloc(1, bytes);
  for (int i = 0; i < 64; ++i)
    if (!blocks[i].begin) {
      blocks[i].begin = *made, blocks[i].bytes = bytes, blocks[i].pinned = pinned;
      return ++alive, 0;
    }
  return 2;
}

static int give(void* block) {
  for (int i = 0; i < 64; ++i)
    if (blocks[i].begin == block) {
      blocks[i].begin = NULL;
      return free(block), --alive, 0;
    }
  return 1;
}

static int is_pinned(const char* address) {
  for (int i = 0; i < 64; ++i)
    if (blocks[i].begin == address) return blocks[i].pinned;
  return 0;
}

int cudaSetDevice(int device) { return device == 0 ? 0 : 101; }
int cudaMalloc(void** made, size_t bytes) { return take(made, bytes, 0); }
int cudaHostAlloc(void** made, size_t bytes, unsigned flags) { return take(made, bytes, 1); }
int cudaFree(void* block) { return give(block); }
int cudaFreeHost(void* block) { return give(block); }

int cudaStreamCreateWithFlags(void** made, unsigned flags) {
  streams[used_streams % 64] = 0;
  return *made = &streams[used_streams++ % 64], ++alive, flags != 1;
}
int cudaEventCreateWithFlags(void** made, unsigned flags) {
  return *made = &events[used_events++ % 64], ++alive, 0;
}
int cudaStreamDestroy(double* stream) { return --alive, 0; }
int cudaEventDestroy(double* event) { return --alive, 0; }
int cudaStreamSynchronize(double* stream) { return 0; }
int cudaEventRecord(double* event, double* stream) { return *event = *stream, 0; }
int cudaEventElapsedTime(float* ms, double* first, double* last) {
  return *ms = (float)((*last - *first) / 1e6), 0;
}
int cudaMemcpyAsync(char* target, const char* source, size_t bytes, int kind, double* stream) {
  const int pinned = is_pinned(kind == 1 ? source : target);
  memcpy(target, source, bytes);
  *stream += pinned ? 1e3 + bytes / 10.0 : 5e3 + bytes / 2.0;
  return kind == 1 || kind == 2 ? 0 : 21;
}
