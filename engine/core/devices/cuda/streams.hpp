// The streams of one GPU, and what is known of how far each has come.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "devices/cuda/api.hpp"

namespace engine::cuda {

/// Most streams of a device: 16 lanes and one for copies in each direction, which come last.
inline constexpr std::uint32_t max_streams = 18;
inline constexpr std::uint32_t copy_streams = 2;

/// A point in a stream: after its `position`-th event. Position 0 is before everything.
struct Stamp {
  std::uint32_t stream = 0;
  std::uint64_t position = 0;
};

/// The last use of something in each stream.
using Uses = std::array<std::uint64_t, max_streams>;

/// Non-blocking streams with pooled events without timing. One event ends each submission; its
/// number is its position. Never waits on the host.
///
/// The device's thread records and polls. Each stream is submitted to by one thread at a time,
/// which alone may make it wait: while a lane is launching that is the lane's own
/// (lane_threads.hpp), and nobody records in it. How far streams have come, any of these threads
/// may ask.
///
/// A wait is only issued where it says something new: not for the same stream, not for what the
/// host has seen pass, not for what the stream waited for before.
class Streams {
 public:
  /// Throws Error. The device must be current.
  Streams(ApiPtr api, std::uint32_t count);
  /// The same with `make(stream)` for each; null makes a stream of the whole GPU.
  Streams(ApiPtr api, std::uint32_t count, const std::function<StreamHandle(std::uint32_t)>& make);
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  /// Their work must have ended.
  ~Streams();

  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(rows_.size());
  }
  [[nodiscard]] StreamHandle handle(std::uint32_t stream) const noexcept {
    return rows_[stream].handle;
  }
  /// Ends a submission: the point after all that was submitted to the stream so far.
  Stamp record(std::uint32_t stream);
  /// What the next record() will return.
  [[nodiscard]] Stamp next(std::uint32_t stream) const noexcept {
    return {stream, recorded(stream) + 1};
  }
  /// Whether work submitted to `stream` from now on comes after `stamp` without a wait.
  [[nodiscard]] bool is_behind(std::uint32_t stream, Stamp stamp) const noexcept {
    return stream == stamp.stream || stamp.position <= passed(stamp.stream) ||
           stamp.position <= rows_[stream].waited[stamp.stream];
  }
  /// Work submitted to `stream` from now on comes after `stamp`. Throws std::logic_error if that
  /// was not recorded yet, Error.
  void wait(std::uint32_t stream, Stamp stamp);
  /// The same for all of `uses`.
  void wait(std::uint32_t stream, const Uses& uses);
  /// Looks once how far each stream has come; whether one has come further.
  bool poll();
  [[nodiscard]] std::uint64_t passed(std::uint32_t stream) const noexcept {
    // acquire: who sees an event passed may use again what came before it
    return rows_[stream].passed.load(std::memory_order_acquire);
  }
  /// Whether others can be made to wait for all of it: what a lane is launching has no event yet.
  [[nodiscard]] bool is_recorded(Stamp stamp) const noexcept {
    return stamp.position <= recorded(stamp.stream);
  }
  /// Whether the host has seen all recorded points pass.
  [[nodiscard]] bool is_idle() const noexcept;
  /// The same of all streams but one and those from `end` on, of which none is launching either.
  [[nodiscard]] bool is_idle_beside(std::uint32_t stream, std::uint32_t end) const noexcept;
  /// From now on, or no longer, there is work in the stream without a point behind it.
  void set_launching(std::uint32_t stream, bool is_launching) noexcept {
    rows_[stream].launching.store(is_launching, std::memory_order_relaxed);  // relaxed: advice
  }
  /// Polls until all recorded points have passed: for what may not happen beside other work.
  /// Throws Error.
  void settle();
  /// The last point recorded in the stream.
  [[nodiscard]] Stamp last(std::uint32_t stream) const noexcept {
    return {stream, recorded(stream)};
  }

 private:
  struct Row {
    StreamHandle handle = nullptr;
    std::atomic<std::uint64_t> recorded{0}, passed{0};  ///< written under the mutex
    std::deque<EventHandle> outstanding;                ///< of the positions after passed()
    Uses waited{};                                      ///< of whoever submits to it
    std::atomic<bool> launching{false};
  };

  [[nodiscard]] std::uint64_t recorded(std::uint32_t stream) const noexcept {
    // acquire: an event that others are to wait for has been recorded
    return rows_[stream].recorded.load(std::memory_order_acquire);
  }
  [[nodiscard]] EventHandle take_event();

  const ApiPtr api_;
  std::vector<Row> rows_;
  /// Guards which events are outstanding, so that none is used again while a stream is told to wait
  /// for it. A leaf; held for one call of CUDA at most, and not while events are polled.
  std::mutex mutex_;
  std::vector<EventHandle> idle_events_;
};

}  // namespace engine::cuda
