// Copies from and to mapped files that others may truncate meanwhile.
#pragma once

#include <cstddef>

namespace engine {

/// Copies; false where part of a mapping is gone, or the system has no memory for it: how much was
/// copied is not known then. False at once, and nothing copied, where SIGBUS is handled by somebody
/// who came after us. Thread-safe.
///
/// Whoever touches a page of a mapping that is behind the file's end gets SIGBUS, which ends the
/// process. While a thread copies here, our handler jumps out of the copy instead; else it calls
/// the one that was there before.
[[nodiscard]] bool guarded_copy(void* to, const void* from, std::size_t bytes) noexcept;

}  // namespace engine
