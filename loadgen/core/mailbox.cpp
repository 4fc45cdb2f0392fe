#include "mailbox.hpp"

#include <utility>

#include "clock.hpp"

namespace loadgen {

void Mailbox::ask(std::uint32_t request) {
  const std::lock_guard lock(mutex_);
  asked_.push_back({request, now_ns()});
}

std::vector<Mailbox::Asked> Mailbox::asked() {
  const std::lock_guard lock(mutex_);
  return std::exchange(asked_, {});
}

void Mailbox::put(const Ended& ended) {
  {
    const std::lock_guard lock(mutex_);
    ended_.push_back(ended);
  }
  changed_.notify_one();
}

std::vector<Mailbox::Ended> Mailbox::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_closed_ || !ended_.empty(); });
  return std::exchange(ended_, {});
}

void Mailbox::finish() {
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
}

bool Mailbox::is_finished() {
  const std::lock_guard lock(mutex_);
  return is_finished_ && asked_.empty();
}

void Mailbox::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace loadgen
