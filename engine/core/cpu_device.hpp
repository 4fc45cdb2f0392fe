// N lanes of this process's cores.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "cpu_spread.hpp"
#include "device.hpp"
#include "local_queue.hpp"
#include "parker.hpp"
#include "run.hpp"
#include "seat_table.hpp"

namespace engine {

/// A lane is a seat: N worker threads and any number of helping submitters compete for N seats,
/// so at most N threads run nodes. A thread that finishes a node runs the most urgent one that it
/// made ready; the rest goes to the shared queue before the next kernel starts, unless there is
/// no other lane. A submitter on an idle machine runs its whole plan without any hand-over.
///
/// No node is left waiting while a lane idles. Work in the queue with a free seat and an open
/// gate always has a thread coming: whoever makes one of the three true (a push, a seat given
/// back, the gate opened) calls wake(), which looks at the other two; a thread that stops
/// spinning or helping, and one that took a node, does so for the nodes that remain.
class CpuDevice final : public Device {
 public:
  CpuDevice(std::string name, int lanes, Machine& machine);

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
    int cpu = 0;  ///< of its holder, when it sat down
    LocalQueue local;
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
  bool run_local(Lane& lane, Run& first, const Run* mine);
  bool run_node(Lane& lane, Run& run, std::uint32_t index);
  void execute(Lane& lane, Run& run, std::uint32_t index, const PlanNode& node);
  void complete(Lane& lane, Run& run, const PlanNode& node);
  void share(Lane& lane, Run& run);
  void flush(Lane& lane, Run& run);
  void enqueue(Run& run, std::uint32_t index);
  [[nodiscard]] bool collect_seats(int seats);

  Machine& machine_;
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
  for (const std::uint32_t index : run.plan().roots()) {
    const PlanNode& node = run.plan().node(index);
    if (&machine_.executor(node.executor) == this) lane->local.push(index, node.bucket);
  }
  push_others();
  if (!lane->local.empty() && run_local(*lane, run, nullptr)) drive(*lane, &run);
  leave(*lane);
  return true;
}

}  // namespace engine
