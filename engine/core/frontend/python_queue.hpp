// What came for Python and was not taken yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "frontend/python_side.hpp"
#include "scheduler/doorbell.hpp"

namespace engine::frontend {

/// Events in their order. Python takes tens of microseconds for a call, clients send one in two:
/// so what waits is bounded, and calls that are gone before Python has heard of them are forgotten.
///
/// Thread-safe: a short lock. The front end puts and withdraws, Python takes.
class PythonQueue {
 public:
  static constexpr std::size_t most_by_default = 24'576;
  /// What is said to those that find it full.
  static constexpr const char* full = "too many calls wait for the server; ask again";

  explicit PythonQueue(std::size_t most_waiting = most_by_default) : most_waiting_(most_waiting) {}

  /// Whether as many calls and items wait as may.
  [[nodiscard]] bool is_full() const;
  /// Rings where nothing was there. Takes what is put even if it is full.
  void put(Event one);
  /// Forgets what of that call was not taken yet; how many events.
  std::size_t withdraw(std::uint64_t token);
  /// At most so many, of those that have waited longest; rings again where some are left.
  [[nodiscard]] std::vector<Event> take(std::size_t most);
  [[nodiscard]] int fd() const noexcept { return bell_.fd(); }

 private:
  using Events = std::list<Event>;

  static bool begins(const Event& event) noexcept {
    return event.kind == Event::call || event.kind == Event::item || event.kind == Event::request;
  }

  const std::size_t most_waiting_;
  Doorbell bell_;
  mutable std::mutex mutex_;
  Events events_;                                                             // guarded by mutex_
  std::unordered_map<std::uint64_t, std::vector<Events::iterator>> of_call_;  // guarded by mutex_
  std::size_t waiting_ = 0;                                                   // guarded by mutex_
};

}  // namespace engine::frontend
