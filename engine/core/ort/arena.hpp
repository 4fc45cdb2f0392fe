// The CPU memory of every ONNX Runtime session of the process.
#pragma once

#include "ort/api.hpp"

namespace engine::ort {

/// Registers one allocator on the env: an arena of ONNX Runtime's own for large blocks, and in
/// front of it a cache of small blocks for each thread. The arena alone has one lock, at which
/// lanes that run tiny operators meet (measured: two lanes of 240 operators on 64 floats took
/// 150 µs side by side, 130 alone); an arena for each session holds 40 times the memory.
///
/// What is above the cache's classes, 64 KiB, counts in MemoryAccount::process(): above its limit
/// the query that asks fails with MemoryRefused's text. From 32 MiB on it is LargeBlocks'.
///
/// Lives as long as the process. Throws std::runtime_error with ONNX Runtime's reason.
void register_arena(const Api& api, OrtEnv* env);

/// Gives what no query uses back to the system: large blocks that are kept, and those of the
/// arena's regions that are free as a whole. Thread-safe; takes a millisecond for each 100 MB.
/// Throws as register_arena.
void give_back_free_memory(const Api& api);

}  // namespace engine::ort
