// A thread that executes what others hand it, one after another.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace engine {

/// For a library that only one thread may use. Thread-safe. Jobs are executed and destroyed on the
/// thread, in the order in which they came; those that are posted must not throw.
class SubmittingThread {
 public:
  using Job = std::function<void()>;

  SubmittingThread();
  SubmittingThread(const SubmittingThread&) = delete;
  SubmittingThread& operator=(const SubmittingThread&) = delete;
  ~SubmittingThread() { stop(); }

  /// Hands a job over; never waits for others. False, and `job` stays as it is, once stopped, and
  /// in a forked child, where the thread is not.
  [[nodiscard]] bool post(Job& job);
  /// Waits until `job` is done; on the thread itself it is done at once. Throws
  /// std::runtime_error with the text of what it throws, or once the thread was stopped, or in a
  /// forked child.
  void call(const Job& job);
  /// Joins after the last job that was handed over. Idempotent; not for the thread itself.
  void stop() noexcept;

 private:
  void work();
  [[nodiscard]] bool is_elsewhere() const noexcept { return ::getpid() != process_; }

  const pid_t process_ = ::getpid();  ///< in which the thread runs
  std::mutex mutex_;                  // guards the next two, held for a push or a pop
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::condition_variable wanted_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace engine
