// How many cores this process may use.
#pragma once

namespace engine {

/// Those of the calling thread's affinity mask, at most those of the container's CPU quota
/// (cgroup_quota.hpp), at least 1. Reads files: not for hot paths.
[[nodiscard]] int available_cores() noexcept;

}  // namespace engine
