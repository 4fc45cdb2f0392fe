// The devices of a process, and the runs in flight on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "broker/broker.hpp"
#include "devices/device.hpp"
#include "devices/params.hpp"
#include "scheduler/admission.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/fair_share.hpp"
#include "scheduler/flight_recorder.hpp"
#include "scheduler/held_lanes.hpp"
#include "scheduler/memory_meter.hpp"
#include "scheduler/parker.hpp"
#include "scheduler/spin_habit.hpp"
#include "scheduler/thread_budget.hpp"

namespace engine {

class CpuDevice;
class Plan;
class Run;
class RunPtr;
struct RunOptions;

struct MachineParams {
  std::vector<DeviceParams> devices;
  std::int64_t spin_ns = 200'000;    ///< how long a thread spins, budget allowing, before it parks
  int thread_budget = 0;             ///< of its own; 0: the process's, which machines share
  broker::Broker* broker = nullptr;  ///< outlives the machine; null: the process's
};

/// Thread-safe. close() before the last reference goes (MachineOwner does).
class Machine : public std::enable_shared_from_this<Machine> {
 public:
  struct CopyRoute {
    std::uint32_t executor = 0;
    std::uint8_t link = 0;
    bool is_linked = false;
  };
  struct Stats {
    std::vector<DeviceStats> devices;  ///< as in the parameters
    std::int64_t live_values = 0;      ///< held by runs, outputs included until released
    std::size_t live_bytes = 0;
    std::uint64_t runs_in_flight = 0;
    Admission::Counts admission;
  };

  /// Starts the threads. Throws std::invalid_argument naming the device and the bad field.
  [[nodiscard]] static std::shared_ptr<Machine> create(const MachineParams& params);
  ~Machine();

  /// Starts a run and returns; never waits for lanes. A run that is not admitted (Admission) has
  /// ended when it returns. Throws std::runtime_error once closed,
  /// std::invalid_argument for a wrong number of inputs.
  [[nodiscard]] RunPtr submit(const Plan& plan, std::span<const ValuePtr> inputs,
                              RunOptions options);
  /// The same, and waits until it is done or `wait_until_ns` (0: no limit) has come. Without a
  /// limit the caller executes what it can itself.
  [[nodiscard]] RunPtr run(const Plan& plan, std::span<const ValuePtr> inputs, RunOptions options,
                           std::int64_t wait_until_ns);
  /// As submit(), but the caller executes what it can of a run that is admitted, if a lane is free.
  /// The run may be done when it returns, and need not be.
  [[nodiscard]] RunPtr submit_here(const Plan& plan, std::span<const ValuePtr> inputs,
                                   RunOptions options);
  /// Waits until no run is in flight; others may start meanwhile.
  void drain() noexcept;
  /// Cancels the runs in flight, waits for their end and joins all threads. Idempotent. Gives up
  /// after `limit_ns` (0: never) and returns false: it must then never be destroyed.
  bool close(std::int64_t limit_ns = 0) noexcept;
  [[nodiscard]] Stats stats() const;
  /// Whether it is closed or has lost one of these devices, a bit each: plans that use them only
  /// fail.
  [[nodiscard]] bool has_lost(std::uint64_t devices) const;
  /// The same of any device.
  [[nodiscard]] bool is_lost() const { return has_lost(~std::uint64_t{0}); }
  /// Whether a device has no lane left that is not held: its plans do not get on.
  [[nodiscard]] bool is_stalled() const;
  [[nodiscard]] int device_count() const noexcept { return device_count_; }
  [[nodiscard]] Device& device(int index) { return *executors_[static_cast<std::size_t>(index)]; }

  // --- for plans, runs and devices ---
  [[nodiscard]] CopyRoute copy_route(int source_device, int target_device) const;
  void adopt(const std::shared_ptr<const Plan>& plan);
  /// Those that are there, in the order in which they were built.
  [[nodiscard]] std::vector<std::shared_ptr<const Plan>> plans() const;
  /// By an adopted plan with wide nodes that goes.
  void forget_wide_plan() noexcept {
    wide_plans_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: see forecasts_lanes()
  }
  /// Whether lanes say when they will be free, which costs a read of the clock a node: while there
  /// are plans with wide nodes, which may have to wait for them.
  [[nodiscard]] bool forecasts_lanes() const noexcept {
    // relaxed: a lane of which nothing is known may be free any time
    return wide_plans_.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] Device& executor(std::uint32_t index) noexcept { return *executors_[index]; }
  [[nodiscard]] std::size_t executor_count() const noexcept { return executors_.size(); }
  [[nodiscard]] MemoryMeter& meter(std::uint32_t index) noexcept { return *meters_[index]; }
  [[nodiscard]] std::string memory_name(std::uint32_t meter) const;
  [[nodiscard]] bool closing() const noexcept {
    return closing_.load(std::memory_order_relaxed);  // relaxed: close() repeats its cancels
  }
  /// Executes nodes on a CPU device until the run is done, or it would wait beyond `until_ns` (0:
  /// no limit). False if it is not done; at once if there is no CPU device, or its workers do
  /// better.
  bool help(Run& run, std::int64_t until_ns);
  /// To the devices: runs that one call is to answer, or one.
  void hand_over(std::span<Run* const> call) noexcept;
  void kick_timed() noexcept;
  void run_ended() noexcept;

  /// Spins until `condition()` holds, as long as the budget allows and for waits like this it pays;
  /// returns whether it held. Who then parks says with waited() how long it waited.
  template <typename Condition>
  bool spin_until(SpinHabit& habit, Condition&& condition) {
    if (spin_ns_ == 0 || !habit.pays() || !budget_.try_spin(broker_.leased_elsewhere()))
      return false;
    const std::int64_t end_ns = now_ns() + spin_ns_;
    bool held = false;
    do {
      for (int i = 0; i < 64 && !(held = condition()); ++i) cpu_relax();
    } while (!held && !is_crowded() && now_ns() < end_ns);
    budget_.remove_running(1);
    if (held) habit.note(0, spin_ns_);
    return held;
  }
  void waited(SpinHabit& habit, std::int64_t since_ns) const noexcept {
    habit.note(now_ns() - since_ns, spin_ns_);
  }
  /// Whether threads may spin at all.
  [[nodiscard]] bool spins() const noexcept { return spin_ns_ != 0; }
  /// Runs that were started and have not ended; a hint.
  [[nodiscard]] std::uint64_t runs_in_flight() const noexcept {
    return in_flight_.load(std::memory_order_relaxed);  // relaxed: a hint
  }
  [[nodiscard]] Admission& admission() noexcept { return *admission_; }
  [[nodiscard]] VirtualTime& virtual_time() noexcept { return virtual_time_; }
  [[nodiscard]] ThreadBudget& budget() noexcept { return budget_; }
  [[nodiscard]] broker::Broker& broker() noexcept { return broker_; }
  /// Whether there are more threads than cores, those of other processes among them.
  [[nodiscard]] bool is_crowded() noexcept { return budget_.exceeded(broker_.leased_elsewhere()); }
  [[nodiscard]] HeldLanes& held_lanes() noexcept { return held_lanes_; }
  [[nodiscard]] FlightRecorder& recorder() noexcept { return recorder_; }

 private:
  explicit Machine(const MachineParams& params);
  void add_device(const MachineParams& machine, std::uint32_t place);
  [[nodiscard]] RunPtr start(const Plan& plan, std::span<const ValuePtr> inputs,
                             RunOptions options);
  /// start() with inputs that nobody writes to.
  [[nodiscard]] RunPtr start_owned(const Plan& plan, std::span<const ValuePtr> inputs,
                                   RunOptions options);
  [[nodiscard]] bool is_admitted(Run& run);
  /// Whether the run's caller may execute its nodes.
  [[nodiscard]] bool may_help(const Run& run) const noexcept;
  /// Executes what the caller can of it, if a lane is free; queues the rest.
  void run_or_push(Run& run, const Plan& plan);
  void push_roots(Run& run, const Plan& plan, const Device* except);
  /// Whether the caller hands a run to the devices: else it waits, or has ended.
  [[nodiscard]] static bool goes_on(Run& run, const Plan& plan);

  const std::int64_t spin_ns_;
  const std::shared_ptr<ThreadBudget> budget_holder_;
  ThreadBudget& budget_;
  broker::Broker& broker_;
  int device_count_ = 0;
  FlightRecorder recorder_;                         ///< before the devices, whose lanes write to it
  std::vector<std::unique_ptr<Device>> executors_;  ///< the devices
  std::vector<std::unique_ptr<MemoryMeter>> meters_;  ///< per device, then the callers' inputs
  std::vector<Device*> timed_;
  CpuDevice* helper_device_ = nullptr;
  HeldLanes held_lanes_;
  std::unique_ptr<Admission> admission_;

  // Read once a node, seldom written.
  alignas(64) std::atomic<bool> closing_{false};
  std::atomic<int> wide_plans_{0};
  alignas(64) std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<std::uint64_t> next_arrival_{0};
  alignas(64) VirtualTime virtual_time_;
  EventCount drained_;
  mutable std::mutex plans_mutex_;
  std::vector<std::weak_ptr<const Plan>> plans_;
  std::mutex close_mutex_;
  bool closed_ = false;
};

/// Closes the machine when it goes out of scope; plans and runs may outlive it.
class MachineOwner {
 public:
  explicit MachineOwner(const MachineParams& params) : machine_(Machine::create(params)) {}
  MachineOwner(const MachineOwner&) = delete;
  MachineOwner& operator=(const MachineOwner&) = delete;
  ~MachineOwner() { machine_->close(); }
  Machine* operator->() const noexcept { return machine_.get(); }
  [[nodiscard]] const std::shared_ptr<Machine>& get() const noexcept { return machine_; }

 private:
  const std::shared_ptr<Machine> machine_;
};

}  // namespace engine
