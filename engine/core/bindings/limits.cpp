#include "bindings/limits.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bindings/released_gil.hpp"
#include "scheduler/clock.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {
namespace {

/// Signals are heard no later than that.
constexpr std::chrono::milliseconds slice{50};

thread_local std::int64_t calls_end_ns = 0;

/// Joins its thread without the GIL, which the thread may need.
class Joined {
 public:
  explicit Joined(std::thread thread) : thread_(std::move(thread)) {}
  ~Joined() {
    const ReleasedGil released(std::nothrow);
    thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace

bool handles_signals() noexcept {
  static thread_local const bool is_first = ::gettid() == ::getpid();
  return is_first;
}

std::int64_t call_deadline_ns() noexcept { return calls_end_ns; }

std::int64_t limited(std::int64_t deadline_ns) noexcept {
  if (deadline_ns == 0 || calls_end_ns == 0) return deadline_ns + calls_end_ns;
  return std::min(deadline_ns, calls_end_ns);
}

void beside_signals(const std::function<void()>& work, const std::function<void()>& stop) {
  if (!handles_signals()) {
    const ReleasedGil released;
    work();
    return;
  }
  std::packaged_task<void()> task(work);
  std::future<void> ended = task.get_future();
  const Joined thread{std::thread(std::move(task))};
  for (;;) {
    {
      const ReleasedGil released;
      if (ended.wait_for(slice) == std::future_status::ready) break;
    }
    if (PyErr_CheckSignals() != 0) {
      nb::python_error raised;
      stop();
      throw raised;
    }
  }
  ended.get();
}

void bind_limits(nb::module_& m) {
  m.def(
      "limit_calls", [](std::int64_t until_ns) { return std::exchange(calls_end_ns, until_ns); },
      "deadline_ns"_a,
      R"(End what this thread runs, here or in plans, when that moment has passed.

It is on time.monotonic_ns()'s clock; 0 is no limit. Returns what held before.)");
}

}  // namespace engine
