// What ends calls from Python in the middle: signals, and the calling thread's time limit.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>

namespace engine {

/// When calls of this thread must end, on the monotonic clock; 0: never.
[[nodiscard]] std::int64_t call_deadline_ns() noexcept;
/// The earlier of that and `deadline_ns`; 0 is none.
[[nodiscard]] std::int64_t limited(std::int64_t deadline_ns) noexcept;

/// Whether this is the thread in which Python handles signals: the process's first.
[[nodiscard]] bool handles_signals() noexcept;

/// Does `work` without the GIL; call with it. In the thread that handles signals it is done beside
/// that, by another one: where a signal's handler raises, `stop` is called, and once `work` has
/// ended the handler's error is thrown. What `work` throws is thrown, too.
void beside_signals(const std::function<void()>& work, const std::function<void()>& stop);

void bind_limits(nanobind::module_& m);

}  // namespace engine
