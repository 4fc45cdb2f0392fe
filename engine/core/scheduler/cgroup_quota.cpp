#include "scheduler/cgroup_quota.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace engine {

namespace {

namespace fs = std::filesystem;

/// Rounded up; 0 where there is no limit ("max", -1) or no file.
long cores_of(long quota_us, long period_us) {
  return quota_us > 0 && period_us > 0 ? (quota_us + period_us - 1) / period_us : 0;
}

long cores_v2(const fs::path& group) {
  long quota_us = 0, period_us = 0;
  std::ifstream(group / "cpu.max") >> quota_us >> period_us;
  return cores_of(quota_us, period_us);
}

long cores_v1(const fs::path& group) {
  long quota_us = 0, period_us = 0;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota_us;
  std::ifstream(group / "cpu.cfs_period_us") >> period_us;
  return cores_of(quota_us, period_us);
}

/// The tightest from the group up to where the hierarchy is mounted. A container may see its own
/// group as the mount itself, under another name: groups that are not there count for nothing.
void tighten(long& cores, const fs::path& mount, fs::path group, long (*read)(const fs::path&)) {
  for (group = group.relative_path();; group = group.parent_path()) {
    const long found = read(group.empty() ? mount : mount / group);
    if (found > 0) cores = cores == 0 ? found : std::min(cores, found);
    if (group.empty()) return;
  }
}

bool has_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

int cgroup_cores(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  long cores = 0;
  // Lines are hierarchy:controllers:path; version 2 has no controllers.
  for (std::string line; std::getline(groups, line);) {
    std::istringstream fields(line);
    std::string hierarchy, controllers, group;
    std::getline(fields, hierarchy, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, group);
    if (controllers.empty()) {
      tighten(cores, mounts, group, cores_v2);
      tighten(cores, mounts / "unified", group, cores_v2);
    } else if (has_cpu(controllers)) {
      tighten(cores, mounts / "cpu", group, cores_v1);
      if (controllers != "cpu") tighten(cores, mounts / controllers, group, cores_v1);
    }
  }
  return static_cast<int>(std::min(cores, 1L << 20));
}

}  // namespace engine
