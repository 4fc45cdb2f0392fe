#include "isolation/detached.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace engine {

namespace {

constexpr std::size_t stack_bytes = 64 << 10;

void require(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

/// What the started process has of its own.
class SpawnOptions {
 public:
  SpawnOptions(int input, int output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    require(::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO), "standard input");
    require(::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO), "standard output");
    require(::posix_spawn_file_actions_addopen(&files_, STDERR_FILENO, "/dev/null", O_WRONLY, 0),
            "standard error");
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    constexpr int flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    require(::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)), "attributes");
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
  ~SpawnOptions() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  [[nodiscard]] const posix_spawn_file_actions_t* files() const { return &files_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

struct Start {
  const SpawnOptions& options;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  Detached started;
  int error = 0;
};

/// As exec takes them, which reads them only.
std::vector<char*> pointers_to(const std::vector<std::string>& rows) {
  std::vector<char*> pointers;
  for (const std::string& row : rows) pointers.push_back(const_cast<char*>(row.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs in the process between, on the memory and descriptors of this one, whose thread waits. The
/// pidfd is taken while that process is the parent: nobody else can have ended the wait for it.
int start_between(void* given) {
  auto* start = static_cast<Start*>(given);
  char** arguments = start->arguments.data();
  start->error = ::posix_spawn(&start->started.pid, arguments[0], start->options.files(),
                               start->options.attributes(), arguments, start->environment.data());
  if (start->error != 0) return 0;
  start->started.descriptor = static_cast<int>(::syscall(SYS_pidfd_open, start->started.pid, 0));
  if (start->started.descriptor < 0) {
    start->error = errno;
    ::kill(start->started.pid, SIGKILL);
  }
  return 0;
}

}  // namespace

Detached start_detached(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment, int input, int output) {
  if (arguments.empty()) throw std::invalid_argument("a program is needed");
  const SpawnOptions options(input, output);
  Start start{.options = options,
              .arguments = pointers_to(arguments),
              .environment = pointers_to(environment),
              .started = {}};
  alignas(std::max_align_t) std::vector<std::byte> stack(stack_bytes);
  // Without a signal at its end it is no child that waits for any child would find.
  const int between = ::clone(&start_between, stack.data() + stack.size(),
                              CLONE_VM | CLONE_VFORK | CLONE_FILES, &start);
  if (between < 0) throw std::system_error(errno, std::generic_category(), "no process");
  while (::waitpid(between, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  require(start.error, arguments.front().c_str());
  return start.started;
}

}  // namespace engine
