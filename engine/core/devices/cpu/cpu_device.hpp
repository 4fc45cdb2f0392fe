// N lanes of this process's cores.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "devices/cpu/cpu_spread.hpp"
#include "devices/device.hpp"
#include "scheduler/parker.hpp"
#include "scheduler/ready_nodes.hpp"
#include "scheduler/ready_queue.hpp"
#include "scheduler/ready_set.hpp"
#include "scheduler/run.hpp"
#include "scheduler/seats.hpp"

namespace engine {

/// A lane is a seat: N worker threads and any number of helping submitters compete for N seats, so
/// at most N threads run nodes. A thread that finishes a node goes on with the first of all ready
/// nodes in the order of ReadyQueue; what else it made ready is in the queue before its next kernel
/// starts. It passes the queue by only where that changes nothing: if what it made ready is a
/// single narrow node or the device has no other lane, and nobody else's nodes wait. A submitter on
/// an idle machine runs its whole plan without any hand-over.
///
/// A node of width w is executed by a thread that holds w seats. Who finds it first in the queue
/// and free seats too few leaves its own; whoever finds enough free takes them all at once.
///
/// A helper takes what ReadyQueue lets it: its own run's nodes, and short foreign ones. Callers
/// park on their own run, so that its end wakes nobody else; ready nodes wake the helpers of their
/// run, then workers.
///
/// What is best effort has as many lanes of its own, begun by the first such node. Their threads
/// run where no other thread of the process or the machine wants to (SCHED_IDLE, which needs no
/// privilege), so that an urgent node finds its lane free and takes the core from them at once. A
/// run is on one sort of lanes with all of its nodes.
///
/// No node is left waiting while a lane idles. Work in the queue with enough free seats always has
/// a thread coming: whoever makes one of both true (a push, a taken node that was in the way, a
/// seat given back) calls wake(), which looks at the other; a thread that stops spinning or
/// helping, and one that took a node, does so for the nodes that remain. A spinning helper counts
/// as coming: it wakes a worker for what it may not take.
class CpuDevice final : public Device {
 public:
  /// `executor` is its index in the machine; on one of its CPU devices callers help.
  CpuDevice(std::string name, int lanes, std::uint32_t executor, Machine& machine, bool has_helpers,
            bool is_idle = false);

  void start() override;
  void stop() noexcept override;
  void push(const Task& task) override;
  [[nodiscard]] DeviceStats stats() const override;
  [[nodiscard]] CpuDevice* helper() noexcept override { return has_helpers_ ? this : nullptr; }

  /// Runs nodes until `run` is done.
  void help(Run& run);
  /// Takes a seat and runs `run` from those of its roots that are this device's. False, and
  /// nothing done, if no seat is free. `push_others` hands the other roots over first.
  template <typename PushOthers>
  bool run_here(Run& run, PushOthers&& push_others);

 private:
  [[nodiscard]] CpuDevice& idle_lanes();

  struct alignas(64) Lane {
    int id = 0;
    int cpu = 0;                       ///< of its holder, when it sat down
    ReadyQueue::Taker taker;           ///< its seats, and whom its holder helps
    std::vector<std::uint32_t> fresh;  ///< positions made ready by the last node, not yet shared
    ReadySet kept;  ///< of the run in hand, on a device of one lane, which need not share
    NodeValues values;
    ReadyNodes elsewhere;  ///< made ready for other executors
    std::atomic<std::uint64_t> executed{0};
  };

  void serve(Run* mine);
  void idle(Run* mine);
  bool spin(Run* mine);
  [[nodiscard]] bool is_over(const Run* mine) const noexcept;
  [[nodiscard]] bool is_wanted(const Run* mine);
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] int workers_coming() const noexcept;
  void wake(int count, ParkedHelpers* helpers = nullptr);

  [[nodiscard]] Lane* try_sit(const Run* mine, int seats);
  void leave(Lane& lane);
  void keep_seats(Lane& lane, int seats);
  void fit_seats(Lane& lane, int before, const Task& task);
  void give_back_seats(int seats);
  bool look_behind_wide();
  void drive(Lane& lane);
  bool linger(const Lane& lane);
  bool run_from(Lane& lane, Task task);
  [[nodiscard]] bool take(Lane& lane, Task& task);
  [[nodiscard]] bool choose(Lane& lane, Task& task);
  [[nodiscard]] bool passes_queue_by(const Lane& lane, const Run& run) const;
  void run_node(Lane& lane, const Task& task);
  std::int64_t execute(Lane& lane, const Task& task, const PlanNode& node);
  void forecast(const Lane& lane, std::int64_t end_ns);
  void complete(Lane& lane, Run& run, const PlanNode& node, std::int64_t end_ns);
  void prepare(Lane& lane, const Run& run) const {
    if (alone_) lane.kept.reserve(run.plan().node_count());
  }
  void keep(Lane& lane, std::uint32_t position) const {
    if (alone_)
      lane.kept.insert(position);
    else
      lane.fresh.push_back(position);
  }
  void flush(Lane& lane, Run& run);
  void empty_kept(Lane& lane);

  Machine& machine_;
  const std::uint32_t executor_;
  const bool alone_;  ///< one lane: nobody to share with
  const bool has_helpers_;
  const bool is_idle_;  ///< the lanes of what is best effort
  Seats seats_;
  CpuSpread spread_;
  std::vector<std::unique_ptr<Lane>> by_id_;
  ReadyQueue queue_;
  EventCount workers_parked_;
  alignas(64) std::atomic<int> spinning_workers_{0};
  std::atomic<int> spinning_helpers_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> helper_wakes_{0};
  std::vector<std::thread> workers_;
  mutable std::mutex idle_mutex_;  // guards idle_
  std::unique_ptr<CpuDevice> idle_;
  std::atomic<CpuDevice*> idle_shown_{nullptr};
};

template <typename PushOthers>
bool CpuDevice::run_here(Run& run, PushOthers&& push_others) {
  Lane* lane = try_sit(&run, 1);
  if (lane == nullptr) return false;
  prepare(*lane, run);
  for (const std::uint32_t index : run.plan().roots()) {
    const PlanNode& node = run.plan().node(index);
    if (node.executor == executor_) keep(*lane, node.position);
  }
  push_others();
  if (!lane->fresh.empty() || !lane->kept.empty()) {
    Task task{.run = &run};
    if (choose(*lane, task) && run_from(*lane, task)) drive(*lane);
  }
  leave(*lane);
  return true;
}

}  // namespace engine
