// What tests may ask of the fake CUDA library beside the functions that it has of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// One range that a kernel reads or writes.
struct FakeCudaAccess {
  void* begin;
  std::size_t bytes;
  bool writes;
};

/// So many GPUs, 4 at most, until the next reset, and whether they can read each other's memory.
void fakeCudaGpus(int count, bool has_peers);
/// Nothing of a GPU works from now on but with this code.
void fakeCudaLose(int gpu, int code);
/// Copies from one GPU to another that went directly, or through the host.
std::size_t fakeCudaPeerCopies(bool direct);
/// Forgets everything and starts over, with one GPU or as many as the environment's FAKE_GPUS says;
/// `seed` decides how far streams come between two calls.
void fakeCudaReset(std::uint64_t seed);
/// A kernel: `work(argument)` is called when the stream comes to it.
int fakeCudaLaunch(void* stream, const FakeCudaAccess* accesses, std::size_t count,
                   void (*work)(void*), void* argument);
/// A host function, as cudaLaunchHostFunc: it may call nothing of CUDA.
int fakeCudaLaunchHost(void* stream, void (*work)(void*), void* argument);
/// From now on nothing may be allocated or freed, nor the host wait for the GPU.
void fakeCudaSeal(bool sealed);
/// The `nth` next call of `function` (1: the next) returns `code`; a fatal code stays. For
/// "execute": the nth operation that a stream executes fails, as a faulty kernel does.
void fakeCudaInject(const char* function, int nth, int code);
/// How many rules were broken since the reset, and the text of the first few.
std::size_t fakeCudaViolations(char* text, std::size_t bytes);
/// Forgets them.
void fakeCudaForgive();
/// Streams, events and allocations that are still there.
std::size_t fakeCudaAlive();
std::size_t fakeCudaOpenHandles();
/// Device memory that each GPU has; 0: no limit.
void fakeCudaMemory(std::size_t bytes);
/// Kernels that were launched or captured on streams of partitions of so many SMs; 0: of the whole
/// GPU.
std::size_t fakeCudaLaunches(unsigned sms);
/// From now on nothing is computed nor copied and takes no time, as for a provider whose kernels
/// are not ours: memory begins as zeros, and what is copied to the host are zeros. The NULL stream
/// is one of its own.
void fakeCudaNull(bool computes_nothing);
/// A call of `function` that waits until all streams are idle; 0 or the error that it returns.
int fakeCudaWaitForAll(const char* function);
/// From now on `action(argument)` is called first in each call of `function`, as what other threads
/// do while it takes its time; none ends it.
void fakeCudaDuring(const char* function, void (*action)(void*), void* argument);
/// Mutations of the program under test: calls of `function` do nothing and succeed ("" ends it).
void fakeCudaIgnore(const char* function);
}
