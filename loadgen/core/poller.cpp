#include "poller.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "clock.hpp"

namespace loadgen {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void clear(const Descriptor& counter) {
  std::uint64_t count = 0;
  static_cast<void>(!::read(counter.get(), &count, sizeof count));
}

void add_one(const Descriptor& counter) noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(counter.get(), &one, sizeof one));
}

}  // namespace

Poller::Poller()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1"),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create"),
      bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd"),
      call_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd") {
  add(timer_.get(), EPOLLIN, &timer_);
  add(bell_.get(), EPOLLIN, &bell_);
  add(call_.get(), EPOLLIN, &call_);
}

void Poller::add(int descriptor, std::uint32_t events, void* data) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = data;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) fail("epoll_ctl");
}

void Poller::change(int descriptor, std::uint32_t events, void* data) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = data;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) != 0) fail("epoll_ctl");
}

std::span<const epoll_event> Poller::wait(std::int64_t wake_ns) {
  // Whoever finds something at once has not slept: that is how a busy thread is told from an idle
  // one that is woken often.
  int count = take(0);
  if (count == 0 && now_ns() < wake_ns) {
    arm(wake_ns);
    const std::int64_t from_ns = now_ns();
    count = take(-1);
    slept_ns_ += now_ns() - from_ns;
  }
  const auto end =
      std::remove_if(events_.begin(), events_.begin() + count, [this](const epoll_event& event) {
        if (event.data.ptr == &bell_) is_rung_ = true;
        if (event.data.ptr == &timer_) {
          clear(timer_);
          armed_ns_ = INT64_MAX;
        }
        if (event.data.ptr == &call_) clear(call_);
        return event.data.ptr == &bell_ || event.data.ptr == &timer_ || event.data.ptr == &call_;
      });
  return {events_.begin(), end};
}

int Poller::take(int timeout_ms) {
  for (;;) {
    const int count =
        ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), timeout_ms);
    if (count >= 0) return count;
    if (errno != EINTR) fail("epoll_wait");
  }
}

void Poller::arm(std::int64_t wake_ns) {
  // One that is armed for sooner only wakes us in vain.
  if (wake_ns >= armed_ns_) return;
  armed_ns_ = wake_ns;
  itimerspec when{};
  const std::int64_t at_ns = std::max<std::int64_t>(wake_ns, 1);
  when.it_value = {at_ns / 1'000'000'000, at_ns % 1'000'000'000};
  if (::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr) != 0)
    fail("timerfd_settime");
}

void Poller::ring() noexcept { add_one(bell_); }

void Poller::wake() noexcept { add_one(call_); }

}  // namespace loadgen
