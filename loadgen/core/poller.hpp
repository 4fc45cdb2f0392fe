// Where the thread sleeps: epoll, a timer of nanoseconds, and a bell that ends a run.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "descriptor.hpp"

namespace loadgen {

/// Of one thread, but for ring() and wake().
class Poller {
 public:
  /// Throws std::system_error if there are no descriptors left.
  Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// `events` as epoll has them; `data` comes back with what happens. Throws std::system_error.
  void add(int descriptor, std::uint32_t events, void* data);
  void change(int descriptor, std::uint32_t events, void* data);

  /// Until something happens, or at the latest until `wake_ns`, on now_ns()'s clock.
  /// Never returns an event of its own: the timer, the bell, a call of wake().
  [[nodiscard]] std::span<const epoll_event> wait(std::int64_t wake_ns);

  /// From any thread, and from a signal handler: ends a wait, and all later ones at once.
  void ring() noexcept;
  [[nodiscard]] bool is_rung() const noexcept { return is_rung_; }
  /// From any thread: ends a wait once.
  void wake() noexcept;

  /// How long waits have slept so far.
  [[nodiscard]] std::int64_t slept_ns() const noexcept { return slept_ns_; }

 private:
  [[nodiscard]] int take(int timeout_ms);
  void arm(std::int64_t wake_ns);

  Descriptor epoll_, timer_, bell_, call_;
  bool is_rung_ = false;
  std::int64_t armed_ns_ = INT64_MAX;
  std::int64_t slept_ns_ = 0;
  std::array<epoll_event, 256> events_;
};

}  // namespace loadgen
