#include "scheduler/room_clock.hpp"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "scheduler/clock.hpp"
#include "scheduler/waiting_room.hpp"

namespace engine {

namespace {

/// By how much the kernel may let the thread sleep longer: 50 us otherwise.
constexpr unsigned long slack_ns = 1'000;

}  // namespace

RoomClock& RoomClock::get() {
  static auto* const clock = new RoomClock;  // its thread may outlive all else
  return *clock;
}

void RoomClock::add(const std::shared_ptr<WaitingRoom>& room) {
  const std::lock_guard lock(mutex_);
  std::erase_if(rooms_, [](const auto& weak) { return weak.expired(); });
  rooms_.push_back(room);
  start();
}

/// A process that was forked has no threads.
void RoomClock::start() {
  const int process = ::getpid();
  if (process_ == process) return;
  process_ = process;
  std::thread([this] { watch(); }).detach();
}

void RoomClock::look_by(std::int64_t at_ns) noexcept {
  // seq_cst: the thread tests the rooms again once it has said until when it sleeps
  if (at_ns < sleeps_until_ns_.load(std::memory_order_seq_cst)) event_.notify_all();
}

std::vector<std::shared_ptr<WaitingRoom>> RoomClock::rooms() {
  std::vector<std::shared_ptr<WaitingRoom>> found;
  const std::lock_guard lock(mutex_);
  for (const auto& weak : rooms_)
    if (auto room = weak.lock()) found.push_back(std::move(room));
  return found;
}

std::int64_t RoomClock::next_ns() {
  std::int64_t next = WaitingRoom::never;
  for (const auto& room : rooms()) next = std::min(next, room->look_at_ns());
  return next;
}

void RoomClock::watch() noexcept {
  pthread_setname_np(pthread_self(), "waiting rooms");
  ::prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
  for (;;) {
    const std::int64_t now = now_ns();
    for (const auto& room : rooms())
      if (room->look_at_ns() <= now) room->look(now);
    const EventCount::Key key = event_.prepare();
    const std::int64_t until_ns = next_ns();
    sleeps_until_ns_.store(until_ns, std::memory_order_seq_cst);  // seq_cst: see look_by()
    if (next_ns() < until_ns || until_ns <= now_ns())
      event_.cancel();
    else
      event_.wait(key, until_ns == WaitingRoom::never ? 0 : until_ns);
    sleeps_until_ns_.store(0, std::memory_order_seq_cst);  // seq_cst: awake, it looks by itself
  }
}

}  // namespace engine
