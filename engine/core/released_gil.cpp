#include "released_gil.hpp"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace engine {

namespace {

using Clock = std::chrono::steady_clock;

/// Calls that let go of the GIL and do not have it again. Sequentially consistent, as is
/// `abandoned`: either a call sees that it may not come back, or the ending thread sees that it
/// does.
std::atomic<int> away{0};
std::atomic<int> coming_back{0};
std::atomic<bool> abandoned{false};

/// Of this thread; a thread that is away runs no Python, so calls do not nest.
thread_local bool is_away = false;

/// Written and read with the GIL.
bool refuses = false;
std::thread::id ending;

bool ends_process() { return refuses && std::this_thread::get_id() == ending; }

/// The threads of the parent are not here.
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] {
  away = 0;
  coming_back = 0;
});

[[noreturn]] void stay_away() {
  for (;;) pause();
}

bool wait_for_none(const std::atomic<int>& count, Clock::time_point until) {
  while (count.load() > 0) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

ReleasedGil::ReleasedGil() : state_(nullptr) {
  if (refuses && !ends_process()) {
    PyErr_SetString(PyExc_SystemExit, "the process is ending");
    throw nanobind::python_error();
  }
  ++away;
  is_away = true;
  state_ = PyEval_SaveThread();
}

ReleasedGil::ReleasedGil(std::nothrow_t) noexcept : state_(nullptr) {
  ++away;
  is_away = true;
  state_ = PyEval_SaveThread();
}

ReleasedGil::~ReleasedGil() {
  ++coming_back;
  if (abandoned.load()) {
    --coming_back;
    stay_away();
  }
  PyEval_RestoreThread(state_);
  is_away = false;
  --coming_back;
  --away;
}

bool ReleasedGil::is_held() noexcept {
  return !is_away && PyGILState_GetThisThreadState() != nullptr;
}

void ReleasedGil::refuse_calls() noexcept {
  refuses = true;
  ending = std::this_thread::get_id();
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
