// How many cores there are for this process, and for all of its machines together.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fixtures.hpp"
#include "scheduler/cgroup_quota.hpp"
#include "scheduler/cores.hpp"
#include "test.hpp"

namespace cores_tests {

using namespace engine;
using namespace engine::test;

namespace {

namespace fs = std::filesystem;

/// A made-up root with control groups.
class Root {
 public:
  Root() {
    std::string name = (fs::temp_directory_path() / "cgroup-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Root() { fs::remove_all(path_); }
  Root& with(const std::string& file, const std::string& text) {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text << "\n";
    return *this;
  }
  [[nodiscard]] int cores() const { return cgroup_cores(path_); }

 private:
  fs::path path_;
};

}  // namespace

TEST(a_quota_of_half_a_core_is_one_core) {
  CHECK(Root().cores() == 0);
  CHECK(Root().with("proc/self/cgroup", "0::/").cores() == 0);
  CHECK(Root()
            .with("proc/self/cgroup", "0::/")
            .with("sys/fs/cgroup/cpu.max", "50000 100000")
            .cores() == 1);
  CHECK(
      Root().with("proc/self/cgroup", "0::/").with("sys/fs/cgroup/cpu.max", "max 100000").cores() ==
      0);
}

TEST(the_tightest_of_nested_groups_counts) {
  CHECK(Root()
            .with("proc/self/cgroup", "0::/slice/service")
            .with("sys/fs/cgroup/slice/cpu.max", "150000 100000")
            .with("sys/fs/cgroup/slice/service/cpu.max", "800000 100000")
            .cores() == 2);
  CHECK(Root()
            .with("proc/self/cgroup", "0::/slice/service")
            .with("sys/fs/cgroup/slice/cpu.max", "max 100000")
            .with("sys/fs/cgroup/slice/service/cpu.max", "300000 100000")
            .cores() == 3);
}

TEST(quotas_of_version_1_count) {
  const std::string groups = "5:memory:/m\n4:cpu,cpuacct:/docker/1\n0::/";
  const std::string group = "sys/fs/cgroup/cpu,cpuacct/docker/";
  CHECK(Root()
            .with("proc/self/cgroup", groups)
            .with(group + "1/cpu.cfs_quota_us", "250000")
            .with(group + "1/cpu.cfs_period_us", "100000")
            .with(group + "cpu.cfs_quota_us", "-1")
            .with(group + "cpu.cfs_period_us", "100000")
            .cores() == 3);
}

TEST(a_container_finds_its_group_at_the_mount) {
  CHECK(Root()
            .with("proc/self/cgroup", "3:cpu:/kubepods/pod7/1")
            .with("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000")
            .with("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
            .cores() == 2);
}

TEST(machines_share_the_cores_of_the_process) {
  MachineOwner one(machine_of({cpu(lanes)})), other(machine_of({cpu(1)}));
  CHECK(&one->budget() == &other->budget());
  CHECK(one->budget().limit() == available_cores());
  MachineParams own = machine_of({cpu(1)});
  own.thread_budget = 3;
  CHECK(MachineOwner(own)->budget().limit() == 3);
}

TEST(a_forked_child_counts_none_of_its_parents_threads) {
  const auto budget = ThreadBudget::of_process();
  budget->add_running(1000);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool may_spin = budget->try_spin();
    ::_exit(may_spin ? 0 : 1);
  }
  budget->remove_running(1000);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace cores_tests
