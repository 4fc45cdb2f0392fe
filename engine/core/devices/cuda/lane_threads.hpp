// A thread for each lane of a GPU, for submissions that keep whoever makes them for long.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "devices/cuda/api.hpp"
#include "devices/cuda/streams.hpp"
#include "scheduler/parker.hpp"
#include "scheduler/spin_habit.hpp"

namespace engine {
class Machine;
}

namespace engine::cuda {

/// Kernels that wait for the GPU while they are submitted (a session with NonZero, say) hold back
/// nobody but their own lane. A lane has one job at a time, given and awaited by the device's
/// thread, which alone may call what is here.
///
/// A thread begins with the first job of its lane, with the GPU current and deaf to captures of
/// others. It counts as running in the machine's budget while it has a job, and spins for the next
/// one as other threads do, where that pays. A GPU of one lane has none: jobs are done at once.
class LaneThreads {
 public:
  using Job = std::function<void()>;

  /// `news` is notified when a job has ended. Both outlive it.
  LaneThreads(Machine& machine, EventCount& news, std::uint32_t lanes);
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;
  ~LaneThreads() { stop(); }

  /// The threads of this GPU are to use it. `wanted`: else there are none.
  void open(ApiPtr api, int ordinal, bool wanted);
  [[nodiscard]] bool any() const noexcept { return wanted_; }
  /// To a lane that has no job; `job` must not throw, and outlives its end.
  void post(std::uint32_t lane, const Job& job);
  /// Whether a lane has a job that has ended.
  [[nodiscard]] bool has_ended(std::uint32_t lane) const noexcept {
    // seq_cst: tested before parking; and what the job did is seen
    return lanes_[lane].state.load(std::memory_order_seq_cst) == ended;
  }
  /// The same; it has none then.
  [[nodiscard]] bool take_ended(std::uint32_t lane) noexcept;
  /// Waits for that.
  void await(std::uint32_t lane) noexcept;
  /// Does a job on the lane's thread, which has none, and waits for it. Throws what that throws.
  void call(std::uint32_t lane, const Job& job);
  /// Joins all; no lane has a job.
  void stop() noexcept;

 private:
  enum State { idle, given, ended };
  struct Lane {
    std::atomic<State> state{idle};
    const Job* job = nullptr;
    EventCount wanted;
    SpinHabit habit;
    std::thread thread;
  };

  void work(Lane& lane);

  Machine& machine_;
  EventCount& news_;
  const std::uint32_t count_;
  const std::unique_ptr<Lane[]> lanes_;
  ApiPtr api_;
  int ordinal_ = 0;
  bool wanted_ = false;
  std::atomic<bool> stopping_{false};
};

}  // namespace engine::cuda
