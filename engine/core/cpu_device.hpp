// N lanes of this process's cores.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "cpu_spread.hpp"
#include "device.hpp"
#include "parker.hpp"
#include "ready_queue.hpp"
#include "ready_set.hpp"
#include "run.hpp"
#include "seat_table.hpp"

namespace engine {

/// A lane is a seat: N worker threads and any number of helping submitters compete for N seats, so
/// at most N threads run nodes. A thread that finishes a node goes on with the first of all ready
/// nodes in the order of ReadyQueue; what else it made ready is in the queue before its next kernel
/// starts. It passes the queue by only where that changes nothing: if what it made ready is a
/// single node or the device has no other lane, and nobody else's nodes wait. A submitter on an
/// idle machine runs its whole plan without any hand-over.
///
/// No node is left waiting while a lane idles. Work in the queue with a free seat and an open
/// gate always has a thread coming: whoever makes one of the three true (a push, a seat given
/// back, the gate opened) calls wake(), which looks at the other two; a thread that stops
/// spinning or helping, and one that took a node, does so for the nodes that remain.
class CpuDevice final : public Device {
 public:
  /// `executor` is its index in the machine.
  CpuDevice(std::string name, int lanes, std::uint32_t executor, Machine& machine);

  void start() override;
  void stop() noexcept override;
  void push(const Task& task) override;
  [[nodiscard]] DeviceStats stats() const override;

  /// Runs nodes, of any run, until `run` is done.
  void help(Run& run);
  /// Takes a seat and runs `run` from those of its roots that are this device's. False, and
  /// nothing done, if no seat is free. `push_others` hands the other roots over first.
  template <typename PushOthers>
  bool run_here(Run& run, PushOthers&& push_others);

 private:
  struct alignas(64) Lane {
    int id = 0;
    int cpu = 0;                       ///< of its holder, when it sat down
    std::vector<std::uint32_t> fresh;  ///< positions made ready by the last node, not yet shared
    ReadySet kept;  ///< of the run in hand, on a device of one lane, which need not share
    NodeValues values;
    std::vector<std::pair<std::uint32_t, Task>> elsewhere;  ///< made ready for other executors
    std::atomic<std::uint64_t> executed{0};
  };

  void serve(Run* mine);
  void idle(Run* mine);
  bool spin(const Run* mine);
  [[nodiscard]] bool is_wanted(const Run* mine) const noexcept;
  void wake(int count);

  [[nodiscard]] Lane* try_sit();
  void leave(Lane& lane);
  void give_back_seats(int seats);
  void drive(Lane& lane, Run* mine);
  [[nodiscard]] bool may_stay(const Run* mine) const noexcept;
  bool linger(const Run* mine);
  bool run_from(Lane& lane, Task task, const Run* mine);
  void choose(Lane& lane, Task& task);
  bool run_node(Lane& lane, const Task& task);
  std::int64_t execute(Lane& lane, const Task& task, const PlanNode& node);
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
  [[nodiscard]] bool collect_seats(int seats);
  [[nodiscard]] int await_seats(int seats);

  Machine& machine_;
  const std::uint32_t executor_;
  const bool alone_;  ///< one lane: nobody to share with
  SeatTable seats_;
  CpuSpread spread_;
  std::vector<std::unique_ptr<Lane>> by_id_;
  ReadyQueue queue_;
  EventCount workers_parked_, helpers_parked_, gate_parked_;
  alignas(64) std::atomic<int> spinners_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

template <typename PushOthers>
bool CpuDevice::run_here(Run& run, PushOthers&& push_others) {
  Lane* lane = try_sit();
  if (lane == nullptr) return false;
  prepare(*lane, run);
  for (const std::uint32_t index : run.plan().roots()) {
    const PlanNode& node = run.plan().node(index);
    if (node.executor == executor_) keep(*lane, node.position);
  }
  push_others();
  if (!lane->fresh.empty() || !lane->kept.empty()) {
    Task task{.run = &run};
    choose(*lane, task);
    if (run_from(*lane, task, &run)) drive(*lane, &run);
  }
  leave(*lane);
  return true;
}

}  // namespace engine
