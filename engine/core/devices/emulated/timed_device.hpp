// A device whose work ends on a clock: base of the emulated device.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "devices/device.hpp"
#include "devices/emulated/timed_work.hpp"
#include "scheduler/inbox.hpp"
#include "scheduler/parker.hpp"
#include "scheduler/ready_nodes.hpp"

namespace engine {

/// One thread plays the events of the derived class in the order of a virtual clock, and sleeps
/// until the next is due without burning a core. What happens at a moment carries that moment's
/// time, however late the thread woke up.
class TimedDevice : public Device {
 public:
  TimedDevice(std::string name, int lanes, std::uint32_t executor, Machine& machine);

  void start() override;
  void stop() noexcept override;
  void push(const Task& task) override;
  void push_all(std::span<const Task> tasks) override;
  void kick() noexcept override;
  [[nodiscard]] bool is_timed() const noexcept override { return true; }
  [[nodiscard]] DeviceStats stats() const override;

 protected:
  // All of these are called on the device's thread.
  /// A node's inputs are there.
  virtual void arrive(const Task& task) = 0;
  /// When the next thing happens, or never_ns.
  [[nodiscard]] virtual std::int64_t next_event_ns() const = 0;
  /// Everything that happens by `clock_ns`.
  virtual void happen(std::int64_t clock_ns) = 0;
  /// Ends the nodes of stopped runs: they need not wait for their clock, nor for a lane.
  virtual void end_stopped() = 0;
  /// Nodes that are held and were not started.
  [[nodiscard]] virtual std::size_t waiting() const = 0;
  /// Stops the runs among those held whose deadline passed.
  virtual void check_runs() = 0;

  /// Publishes a node's outputs and hands on what it made ready. `lane` -1: it was skipped.
  void end(TimedWork& work, int lane);
  /// Ends a node of a stopped run that was not started.
  void skip(const Task& task);
  /// Counts executed nodes.
  void count_executed() noexcept {
    executed_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  }
  /// Lets arrivals of this device that end() found, and those of the inbox, arrive.
  void settle();
  /// Remembers the run's deadline.
  void watch(const Run& run) noexcept;
  [[nodiscard]] Machine& machine() const noexcept { return machine_; }
  [[nodiscard]] std::uint32_t executor() const noexcept { return executor_; }

 private:
  void work();
  bool step();
  void drain();
  void end_late();
  void park();

  const std::uint32_t executor_;
  Machine& machine_;
  Inbox inbox_;
  EventCount parked_;
  std::vector<Task> drained_;           ///< thread's own, as all that follow
  std::vector<Task> arrivals_;          ///< ready here, not yet arrived
  std::int64_t next_deadline_ns_ = 0;   ///< of the runs held here, 0: none
  std::int64_t arrived_ns_ = never_ns;  ///< earliest of the inbox's arrivals that nothing was
                                        ///< decided on
  ReadyNodes made_ready_;
  std::atomic<std::uint64_t> executed_{0};
  std::atomic<std::uint64_t> waiting_{0};
  std::atomic<bool> kicked_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace engine
