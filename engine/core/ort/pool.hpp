// The one thread pool that sessions of any width may share.
#pragma once

#include "ort/api.hpp"

namespace engine::ort {

/// An env with a pool of as many threads as the process has cores, the caller counted. The pool's
/// threads start when start_shared_pool() is first called: most processes never need them. They
/// do not spin: nothing can tell a pool of the env that a segment has ended, and a thread that
/// spins on takes the core of the next lane.
///
/// Throws std::runtime_error with ONNX Runtime's reason.
[[nodiscard]] OrtEnv* create_env_with_pool(const Api& api);

/// Thread-safe. Until then operators of sessions that use the pool run on their caller alone.
void start_shared_pool();

/// Threads of the shared pool that run; 0 before start_shared_pool().
[[nodiscard]] int shared_pool_threads();

}  // namespace engine::ort
