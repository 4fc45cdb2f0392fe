// What tests may ask of the fake ONNX Runtime beside the C API. Its models are a text somewhere in
// their bytes, from "fake:" to ";;", with one ';' between:
//   in NAME COUNT         an input of so many int64; "?": of open size
//   weight NAME COUNT N   an initializer of numbers N
//   out NAME COUNT        1 + the first number of each input and weight; "?": as many as the first
//                         input has
//   defers                a kernel leaves pinned memory to the end of a run with synchronisation
//   flow                  control flow: no graphs
//   host                  a node that only the CPU has
//   lies                  outputs have one number more than declared
//   tries                 opening a session works in memory that it frees again
//   own                   open outputs are not of the registered allocator
#pragma once

#include <cstddef>

extern "C" {

/// Forgets counts and violations.
void fakeOrtReset();
/// How many rules were broken since the reset, and the text of the first few.
std::size_t fakeOrtViolations(char* text, std::size_t bytes);
/// Since the reset: "opened", "runs", "synchronised" (of these), "shared" and "copied" (weights of
/// opened sessions), "tf32" (of the opened), "deferred" (most runs of a session whose pinned memory
/// was left), "captures", "replays"; and now: "sessions" on the GPU, "objects" of any kind.
std::size_t fakeOrtCount(const char* what);
/// Whether it has a CUDA provider.
void fakeOrtHasCuda(bool has);
/// The same of its TensorRT provider.
void fakeOrtHasTensorRt(bool has);
}
