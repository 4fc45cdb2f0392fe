#include "devices/submitting_thread.hpp"

#include <future>
#include <stdexcept>
#include <string>
#include <utility>

namespace engine {

SubmittingThread::SubmittingThread() : thread_([this] { work(); }) {}

bool SubmittingThread::post(Job& job) {
  if (is_elsewhere()) return false;  // the mutex may have been held when the process forked
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    jobs_.push_back(std::move(job));
  }
  wanted_.notify_one();
  return true;
}

void SubmittingThread::call(const Job& job) {
  if (is_elsewhere())
    throw std::runtime_error(
        "this process was forked after the plugin was opened, whose thread stayed behind in its"
        " parent: open it after the fork, or start processes by spawn");
  if (std::this_thread::get_id() == thread_.get_id()) return job();
  // The text and not the exception: two threads would hold and free one.
  std::promise<std::string> ended;
  Job wrapped = [&] {
    std::string failure;
    try {
      job();
    } catch (const std::exception& error) {
      failure = error.what();
    }
    ended.set_value(std::move(failure));
  };
  if (!post(wrapped)) throw std::runtime_error("the submitting thread has ended");
  if (const std::string failure = ended.get_future().get(); !failure.empty())
    throw std::runtime_error(failure);
}

void SubmittingThread::stop() noexcept {
  if (is_elsewhere()) {
    if (thread_.joinable()) thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SubmittingThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it holds goes here, not under the lock
    lock.lock();
  }
}

}  // namespace engine
