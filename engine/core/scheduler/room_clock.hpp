// Looks into waiting rooms when the time of somebody there has come.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "scheduler/parker.hpp"

namespace engine {

class WaitingRoom;

/// One thread of the process, which sleeps until the first of all rooms has something to look at:
/// to within some microseconds, since a batch waits for it. It begins with the first room, and
/// never ends. Thread-safe.
class RoomClock {
 public:
  [[nodiscard]] static RoomClock& get();
  RoomClock(const RoomClock&) = delete;
  RoomClock& operator=(const RoomClock&) = delete;

  /// Looks into it until it is gone.
  void add(const std::shared_ptr<WaitingRoom>& room);
  /// A room has something to look at then. Call it once WaitingRoom::look_at_ns() says so.
  void look_by(std::int64_t at_ns) noexcept;

 private:
  RoomClock() = default;
  void start();
  void watch() noexcept;
  [[nodiscard]] std::vector<std::shared_ptr<WaitingRoom>> rooms();
  [[nodiscard]] std::int64_t next_ns();

  std::mutex mutex_;
  std::vector<std::weak_ptr<WaitingRoom>> rooms_;  // guarded by mutex_
  int process_ = 0;                                // guarded by mutex_
  EventCount event_;
  std::atomic<std::int64_t> sleeps_until_ns_{0};
};

}  // namespace engine
