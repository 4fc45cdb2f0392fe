// The CPU quota of a container.
#pragma once

#include <filesystem>

namespace engine {

/// Cores that the control groups of this process allow, rounded up; 0: no limit. The tightest of
/// its group and all groups above: `cpu.max` (version 2), `cpu.cfs_quota_us` (version 1), at the
/// usual places below `root`, which is another folder in tests. Reads a few small files.
[[nodiscard]] int cgroup_cores(const std::filesystem::path& root = "/");

}  // namespace engine
