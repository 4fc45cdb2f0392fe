#include "shared_memory/guarded_copy.hpp"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>

namespace engine {

namespace {

/// The copy of this thread that is going on. Touched before each copy, so that the handler finds it
/// made.
thread_local sigjmp_buf* volatile going_on = nullptr;

struct sigaction before = {};

void hear(int number, siginfo_t* info, void* context) {
  if (sigjmp_buf* const copy = going_on) {
    going_on = nullptr;
    siglongjmp(*copy, 1);
  }
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(number);
  ::signal(number, SIG_DFL);  // what it was about comes again, and ends the process
}

bool install() noexcept {
  struct sigaction ours = {};
  ours.sa_sigaction = hear;
  // Not blocked within: the jump out of it would leave it so. Python's threads have small stacks
  // for signals, or none; what is chained is called on the same.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  return ::sigaction(SIGBUS, &ours, &before) == 0;
}

/// Whether a SIGBUS of this thread comes to us; two system calls that take no lock.
bool is_heard() noexcept {
  static const bool is_installed = install();
  if (!is_installed) return false;
  struct sigaction now = {};
  ::sigaction(SIGBUS, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != hear) return false;
  sigset_t blocked;
  return ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 && sigismember(&blocked, SIGBUS) == 0;
}

#ifdef __SANITIZE_THREAD__
constexpr int saves_mask = 1;  // TSan blocks all signals while a handler runs

/// Clients write to what is theirs when they like, which is no race of ours; and TSan's own memcpy
/// is not made to be left by a jump.
__attribute__((no_sanitize("thread"))) void copy(void* to, const void* from, std::size_t bytes) {
  auto* const written = static_cast<volatile char*>(to);
  const auto* const read = static_cast<const volatile char*>(from);
  for (std::size_t at = 0; at < bytes; ++at) written[at] = read[at];
}
#else
constexpr int saves_mask = 0;

void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
#endif

}  // namespace

bool guarded_copy(void* to, const void* from, std::size_t bytes) noexcept {
  if (!is_heard()) return false;
  sigjmp_buf here;
  if (sigsetjmp(here, saves_mask) != 0) return false;
  going_on = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the handler is of this thread
  copy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  going_on = nullptr;
  return true;
}

}  // namespace engine
