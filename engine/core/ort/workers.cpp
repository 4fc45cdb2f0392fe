#include "ort/workers.hpp"

#include <pthread.h>

#include <exception>

#include "ort/runtime.hpp"

namespace engine::ort {

Workers::Workers(bool asleep) noexcept : asleep_(asleep) {
  if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) CPU_ZERO(&allowed_);
}

void Workers::serve(const Api& api, OrtSessionOptions* options) {
  check_with(api, api.set_create_thread(options, create));
  check_with(api, api.set_thread_creation_options(options, this));
  check_with(api, api.set_join_thread(options, join));
}

void Workers::keep_off_callers_cpu() noexcept {
  const int cpu = sched_getcpu();
  // relaxed: advice; who reads an old value asks once too often or too rarely
  if (cpu < 0 || barred_.load(std::memory_order_relaxed) == cpu) return;
  cpu_set_t others = allowed_;
  CPU_CLR(static_cast<std::size_t>(cpu), &others);
  if (CPU_COUNT(&others) == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another segment of the pool says where
  for (Worker& worker : workers_) {
    if (worker.thread.joinable())
      pthread_setaffinity_np(worker.thread.native_handle(), sizeof others, &others);
  }
  barred_.store(cpu, std::memory_order_relaxed);  // advice
}

void* Workers::create(void* workers, void (*work)(void*), void* parameter) noexcept {
  Workers& self = *static_cast<Workers*>(workers);
  try {
    const std::lock_guard lock(self.mutex_);
    Worker& worker = self.workers_.emplace_back(work, parameter, std::thread{});
    if (!self.are_asleep()) worker.thread = std::thread(work, parameter);
    return &worker;
  } catch (const std::exception&) {
    return nullptr;  // ONNX Runtime reports that the thread could not be made
  }
}

void Workers::join(void* worker) noexcept {
  std::thread& thread = static_cast<Worker*>(worker)->thread;
  if (thread.joinable()) thread.join();
}

bool Workers::wake() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    asleep_.store(false, std::memory_order_relaxed);  // those that are created later run at once
    for (Worker& worker : workers_) {
      if (!worker.thread.joinable()) worker.thread = std::thread(worker.work, worker.parameter);
    }
    barred_.store(-1, std::memory_order_relaxed);  // the next run says where they may be
    return true;
  } catch (const std::exception&) {
    return false;  // what does run helps
  }
}

}  // namespace engine::ort
