// Lets go of the GIL while a thread computes, such that the process can end meanwhile.
#pragma once

#include <Python.h>

#include <cstdint>
#include <new>

namespace engine {

/// In the place of nanobind::gil_scoped_release. Before Python 3.14 a daemon thread that takes the
/// GIL while the interpreter ends is unwound by pthread_exit, which aborts the process in any
/// destructor. So calls are counted; the thread that ends the process refuses new ones of all
/// others and waits for those that it finds; what does not end in time never comes back.
class ReleasedGil {
 public:
  /// Throws nanobind::python_error, SystemExit, once the process ends: the thread is to end
  /// quietly.
  ReleasedGil();
  /// For destructors: does not refuse.
  explicit ReleasedGil(std::nothrow_t) noexcept;
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
  ~ReleasedGil();

  /// Whether the calling thread has the GIL, if it takes and lets go of it through Python and this
  /// class alone. PyGILState_Check says yes of every thread once there is a sub-interpreter.
  [[nodiscard]] static bool is_held() noexcept;

  /// Refuses the calls of all threads but this one from now on. With the GIL.
  static void refuse_calls() noexcept;
  /// Whether those of the calling thread are refused.
  [[nodiscard]] static bool refuses_calls() noexcept;
  /// Waits until no call of another thread is under way, without the GIL; false after `limit_ns`,
  /// and then threads that are still away stay there.
  static bool await_calls(std::int64_t limit_ns) noexcept;

 private:
  PyThreadState* state_;
};

}  // namespace engine
