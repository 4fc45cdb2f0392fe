#include "scheduler/signal_hook.hpp"

namespace engine {

SignalHook& SignalHook::get() noexcept {
  static constinit SignalHook hook;
  return hook;
}

void SignalHook::set() noexcept {
  if (is_set_.load(std::memory_order_relaxed)) return;  // relaxed: ours, while the run goes on
  heard_.store(false, std::memory_order_relaxed);       // relaxed: not hooked yet
  for (int i = 0; i < 2; ++i) {
    ::sigaction(numbers_[i], nullptr, &before_[i]);
    const bool is_handled = (before_[i].sa_flags & SA_SIGINFO) != 0 ||
                            (before_[i].sa_handler != SIG_DFL && before_[i].sa_handler != SIG_IGN);
    is_hooked_[i] = is_handled;
    if (!is_handled) continue;
    struct sigaction ours = before_[i];
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_sigaction = &SignalHook::hear;
    ::sigaction(numbers_[i], &ours, nullptr);
  }
  // release: whoever removes it sees what was before
  is_set_.store(true, std::memory_order_release);
}

bool SignalHook::remove() noexcept {
  if (!is_set_.load(std::memory_order_acquire)) return false;  // acquire: pairs with set()
  for (int i = 0; i < 2; ++i) {
    if (!is_hooked_[i]) continue;
    struct sigaction now = {};
    ::sigaction(numbers_[i], nullptr, &now);
    // Another handler that was installed meanwhile stays.
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &SignalHook::hear)
      ::sigaction(numbers_[i], &before_[i], nullptr);
  }
  is_set_.store(false, std::memory_order_relaxed);  // relaxed: the next run's start publishes it
  return heard_.exchange(false, std::memory_order_relaxed);  // relaxed: see heard()
}

void SignalHook::hear(int number, siginfo_t* info, void* context) noexcept {
  SignalHook& hook = get();
  hook.heard_.store(true, std::memory_order_relaxed);  // relaxed: see heard()
  const struct sigaction& before = hook.before_[number == numbers_[0] ? 0 : 1];
  if ((before.sa_flags & SA_SIGINFO) != 0)
    before.sa_sigaction(number, info, context);
  else
    before.sa_handler(number);
}

}  // namespace engine
