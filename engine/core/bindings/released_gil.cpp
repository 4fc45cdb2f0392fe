#include "bindings/released_gil.hpp"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "scheduler/thread_counts.hpp"

namespace engine {

namespace {

using Clock = std::chrono::steady_clock;

/// Calls that let go of the GIL and do not have it again. Those that come back are counted
/// sequentially consistent, as is `abandoned`: either a call sees that it may not come back, or the
/// ending thread sees that it does. The others are counted with the GIL.
enum Passage : std::size_t { away, coming_back, kinds };
ThreadCounts<kinds> calls;
std::atomic<bool> abandoned{false};

/// Of this thread; a thread that is away runs no Python, so calls do not nest.
thread_local bool is_away = false;

/// Written with the GIL, read with it or once `abandoned` is seen.
bool refuses = false;
std::thread::id ending;

/// The threads of the parent are not here.
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] { calls.clear(); });

[[noreturn]] void stay_away() {
  for (;;) pause();
}

bool wait_for_none(Passage kind, Clock::time_point until) {
  while (calls.sum(kind) > 0) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

ReleasedGil::ReleasedGil() : state_(nullptr) {
  if (refuses_calls()) {
    PyErr_SetString(PyExc_SystemExit, "the process is ending");
    throw nanobind::python_error();
  }
  calls.add(away, 1);
  is_away = true;
  state_ = PyEval_SaveThread();
}

ReleasedGil::ReleasedGil(std::nothrow_t) noexcept : state_(nullptr) {
  calls.add(away, 1);
  is_away = true;
  state_ = PyEval_SaveThread();
}

ReleasedGil::~ReleasedGil() {
  calls.add(coming_back, 1, std::memory_order_seq_cst);  // seq_cst: before we look at `abandoned`
  if (abandoned.load() && refuses_calls()) {             // what refuses was said before
    calls.add(coming_back, -1, std::memory_order_seq_cst);  // seq_cst: as all of this counter
    stay_away();
  }
  PyEval_RestoreThread(state_);
  is_away = false;
  calls.add(coming_back, -1);
  calls.add(away, -1);
}

bool ReleasedGil::is_held() noexcept {
  return !is_away && PyGILState_GetThisThreadState() != nullptr;
}

void ReleasedGil::refuse_calls() noexcept {
  refuses = true;
  ending = std::this_thread::get_id();
}

bool ReleasedGil::refuses_calls() noexcept {
  return refuses && std::this_thread::get_id() != ending;
}

bool ReleasedGil::await_calls(std::int64_t limit_ns) noexcept {
  PyThreadState* const state = PyEval_SaveThread();
  const bool all = wait_for_none(away, Clock::now() + std::chrono::nanoseconds(limit_ns));
  if (!all) abandoned = true;
  // Those that did not see it get the GIL, which nobody holds for long.
  wait_for_none(coming_back, Clock::now() + std::chrono::seconds(1));
  PyEval_RestoreThread(state);
  return all;
}

}  // namespace engine
