// Waking threads of other processes.
#pragma once

#include <atomic>
#include <cstdint>

namespace engine::broker {

/// Sleeps while `word` is `key`, at most until that moment on the monotonic clock (0: no limit);
/// may return early. `sleepers` counts those that sleep. The word lies in memory that processes
/// share, and is anything another one writes: that only wakes too often, or at the limit.
void sleep_on(std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleepers,
              std::uint32_t key, std::int64_t until_ns) noexcept;

/// Wakes all of them; a few nanoseconds where nobody sleeps.
void ring(std::atomic<std::uint32_t>& word, const std::atomic<std::uint32_t>& sleepers) noexcept;

}  // namespace engine::broker
