#include "ort/pool.hpp"

#include <list>
#include <mutex>
#include <thread>

#include "ort/runtime.hpp"
#include "scheduler/cores.hpp"

namespace engine::ort {
namespace {

/// A thread that ONNX Runtime asked for; it has its work, and runs once it is started.
struct Worker {
  void (*work)(void*);
  void* parameter;
  std::thread thread;
};

/// Never destroyed, like the env: its threads end with the process.
struct SharedWorkers {
  std::mutex mutex;
  std::list<Worker> all;
  bool started = false;
};

SharedWorkers& workers() {
  static SharedWorkers* const instance = new SharedWorkers;
  return *instance;
}

void start(Worker& worker) { worker.thread = std::thread(worker.work, worker.parameter); }

void* create_thread(void* /*options*/, void (*work)(void*), void* parameter) {
  SharedWorkers& pool = workers();
  const std::lock_guard lock(pool.mutex);
  Worker& worker = pool.all.emplace_back(work, parameter, std::thread{});
  if (pool.started) start(worker);
  return &worker;
}

void join_thread(void* handle) {
  std::thread& thread = static_cast<Worker*>(handle)->thread;
  if (thread.joinable()) thread.join();
}

}  // namespace

OrtEnv* create_env_with_pool(const Api& api) {
  OrtThreadingOptions* options = nullptr;
  check_with(api, api.create_threading_options(&options));
  OrtEnv* env = nullptr;
  OrtStatus* status = api.set_global_intra_op_threads(options, available_cores());
  if (!status) status = api.set_global_inter_op_threads(options, 1);
  if (!status) status = api.set_global_spin_control(options, 0);
  if (!status) status = api.set_global_create_thread(options, create_thread);
  if (!status) status = api.set_global_join_thread(options, join_thread);
  // Failures come back as statuses and are thrown; the log would only repeat them on stderr.
  if (!status) status = api.create_env_with_pools(kLogFatal, "surplus", options, &env);
  api.release_threading_options(options);
  check_with(api, status);
  return env;
}

void start_shared_pool() {
  SharedWorkers& pool = workers();
  const std::lock_guard lock(pool.mutex);
  if (pool.started) return;
  for (Worker& worker : pool.all) start(worker);
  pool.started = true;
}

int shared_pool_threads() {
  SharedWorkers& pool = workers();
  const std::lock_guard lock(pool.mutex);
  return pool.started ? static_cast<int>(pool.all.size()) : 0;
}

}  // namespace engine::ort
