// A process that works for this one without being its child.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace engine {

/// A process that was started; `descriptor` is a pidfd, readable once it has ended, and the
/// caller's to close.
struct Detached {
  pid_t pid = -1;
  int descriptor = -1;
};

/// Starts a program whose parent is init, or whoever adopts orphans: the program that this core is
/// loaded into may wait for all of its children, or ignore SIGCHLD, and never hears of it. It has
/// a session of its own, the default action for every signal, `environment` (rows NAME=VALUE),
/// `input` and `output` as standard input and output, nothing as standard error, and no other
/// descriptor that closes on exec.
///
/// Thread-safe; nothing of this process's memory is copied, however large that is. Throws
/// std::system_error if there is no such program or the kernel has no pidfd (before Linux 5.3),
/// std::invalid_argument without a program.
[[nodiscard]] Detached start_detached(const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& environment, int input,
                                      int output);

}  // namespace engine
