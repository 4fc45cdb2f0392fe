// The devices of a process, and the runs in flight on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/held_lanes.hpp"
#include "scheduler/memory_meter.hpp"
#include "scheduler/parker.hpp"
#include "scheduler/thread_budget.hpp"

namespace engine {

namespace cuda {
class Backend;
class CudaDevice;
}  // namespace cuda

class CpuDevice;
class Plan;
class Run;
class RunPtr;
class SubmittingThread;
struct RunOptions;

/// What only a CUDA device needs.
struct CudaParams {
  int ordinal = 0;                        ///< CUDA's number of the GPU
  int sms = 0;                            ///< SMs of a partition; 0: the whole GPU
  bool allows_tf32 = false;               ///< whether float32 may be multiplied in TF32
  std::string driver = {};                ///< CUDA's driver; empty: the usual name
  std::string library = {};               ///< CUDA's runtime library; empty: the usual names
  std::size_t reserve_bytes = 0;          ///< device memory that is taken at the start
  std::size_t staging_bytes = 64U << 20;  ///< pinned host memory for copies
  int queue_depth = 4;                    ///< most submissions in a stream at a time
  int lanes_at_once = 1;                  ///< that a kernel is opened on with its plan
  /// Whether closing a lost device resets CUDA in this process, so that the GPU can perhaps be
  /// opened again, of which NVIDIA promises nothing; the last machine that has it open does.
  /// Answers are then copied out of pinned memory, which a reset frees.
  bool resets_when_lost = false;
  std::shared_ptr<const cuda::Backend> backend = nullptr;  ///< what its values and kernels are
};

/// What only a device behind a plugin provider needs.
struct PluginParams {
  std::string provider = {};                           ///< the name that it was opened under
  std::shared_ptr<SubmittingThread> thread = nullptr;  ///< the one that may use it
};

/// One device of a machine; the fields after `lanes` are the emulated device's, but for
/// memory_bytes and the last two.
struct DeviceParams {
  std::string kind = "cpu";  ///< "cpu", "emulated", "cuda" or "plugin"
  std::string name = "cpu";
  int lanes = 1;
  bool replay = false;                ///< answer from the outputs of the first execution
  std::int64_t submit_ns = 10'000;    ///< what a submission takes its submitting thread
  std::vector<double> slowdown = {};  ///< factor on service times with 1, 2, ... busy lanes
  std::size_t memory_bytes = 0;       ///< 0: unlimited
  std::int64_t first_run_ns = 0;      ///< extra cost of a node's first execution
  bool fail_prepare = false;          ///< refuse every kernel
  std::uint64_t fail_every = 0;       ///< every n-th execution fails; 0: never
  std::uint64_t lose_at = 0;          ///< the n-th execution loses the device; 0: never
  std::int64_t capture_ns = 0;        ///< extra cost of a captured node's first execution
  bool fail_capture = false;          ///< capture no graph: operators are launched one by one
  std::int64_t h2d_latency_ns = 10'000;
  double h2d_bytes_per_s = 12e9;
  std::int64_t h2d_occupancy_ns = 0;
  std::int64_t d2h_latency_ns = 10'000;
  double d2h_bytes_per_s = 12e9;
  std::int64_t d2h_occupancy_ns = 0;
  std::size_t staging_bytes = 0;  ///< pinned pool of each direction; 0: unlimited
  bool pageable = false;          ///< copies hold the submitting thread, too
  CudaParams cuda = {};
  PluginParams plugin = {};
};

/// One direction of a link.
struct LinkParams {
  std::int64_t latency_ns = 0;
  double bytes_per_s = 1e9;
  std::int64_t occupancy_ns = 0;  ///< what a copy holds the link for besides its bytes
  std::size_t staging_bytes = 0;  ///< 0: unlimited
  bool pageable = false;
};

struct MachineParams {
  std::vector<DeviceParams> devices;
  std::int64_t spin_ns = 200'000;  ///< how long a thread spins, budget allowing, before it parks
  int thread_budget = 0;           ///< of its own; 0: the process's, which machines share
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
  };

  /// Starts the threads. Throws std::invalid_argument naming the device and the bad field.
  [[nodiscard]] static std::shared_ptr<Machine> create(const MachineParams& params);
  ~Machine();

  /// Starts a run and returns; never waits for lanes. Throws std::runtime_error once closed,
  /// std::invalid_argument for a wrong number of inputs.
  [[nodiscard]] RunPtr submit(const Plan& plan, std::span<const ValuePtr> inputs,
                              RunOptions options);
  /// The same, and waits until it is done or `wait_until_ns` (0: no limit) has come. Without a
  /// limit the caller executes what it can itself.
  [[nodiscard]] RunPtr run(const Plan& plan, std::span<const ValuePtr> inputs, RunOptions options,
                           std::int64_t wait_until_ns);
  /// Waits until no run is in flight; others may start meanwhile.
  void drain() noexcept;
  /// Cancels the runs in flight, waits for their end and joins all threads. Idempotent. Gives up
  /// after `limit_ns` (0: never) and returns false: it must then never be destroyed.
  bool close(std::int64_t limit_ns = 0) noexcept;
  [[nodiscard]] Stats stats() const;
  /// Whether it is closed or has lost a device: plans of it may only fail.
  [[nodiscard]] bool is_lost() const;
  /// Whether a device has no lane left that is not held: its plans do not get on.
  [[nodiscard]] bool is_stalled() const;
  [[nodiscard]] int device_count() const noexcept { return device_count_; }
  [[nodiscard]] Device& device(int index) { return *executors_[static_cast<std::size_t>(index)]; }

  // --- for plans, runs and devices ---
  [[nodiscard]] CopyRoute copy_route(int source_device, int target_device) const;
  void adopt(const std::shared_ptr<const Plan>& plan);
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
  /// Executes nodes on a CPU device until the run is done; false if there is no CPU device.
  bool help(Run& run);
  void kick_timed() noexcept;
  void run_ended() noexcept;

  /// Spins until `condition()` holds, as long as the budget allows; returns whether it held.
  template <typename Condition>
  bool spin_until(Condition&& condition) {
    if (spin_ns_ == 0 || !budget_.try_spin()) return false;
    const std::int64_t end_ns = now_ns() + spin_ns_;
    bool held = false;
    do {
      for (int i = 0; i < 64 && !(held = condition()); ++i) cpu_relax();
    } while (!held && !budget_.exceeded() && now_ns() < end_ns);
    budget_.remove_running(1);
    return held;
  }
  /// Whether threads may spin at all.
  [[nodiscard]] bool spins() const noexcept { return spin_ns_ != 0; }
  /// Runs that were started and have not ended; a hint.
  [[nodiscard]] std::uint64_t runs_in_flight() const noexcept {
    return in_flight_.load(std::memory_order_relaxed);  // relaxed: a hint
  }
  [[nodiscard]] ThreadBudget& budget() noexcept { return budget_; }
  [[nodiscard]] HeldLanes& held_lanes() noexcept { return held_lanes_; }

 private:
  explicit Machine(const MachineParams& params);
  void add_device(const MachineParams& machine, std::size_t place);
  [[nodiscard]] RunPtr start(const Plan& plan, std::span<const ValuePtr> inputs,
                             RunOptions options);
  void push_roots(Run& run, const Plan& plan, const Device* except);

  const std::int64_t spin_ns_;
  const std::shared_ptr<ThreadBudget> budget_holder_;
  ThreadBudget& budget_;
  int device_count_ = 0;
  std::vector<std::unique_ptr<Device>> executors_;    ///< the devices
  std::vector<std::unique_ptr<MemoryMeter>> meters_;  ///< per device, then the callers' inputs
  std::vector<Device*> timed_;
  cuda::CudaDevice* gpu_ = nullptr;  ///< all partitions of it are devices
  CpuDevice* helper_device_ = nullptr;
  HeldLanes held_lanes_;

  // Read once a node, seldom written.
  alignas(64) std::atomic<bool> closing_{false};
  std::atomic<int> wide_plans_{0};
  alignas(64) std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<std::uint64_t> next_arrival_{0};
  EventCount drained_;
  std::mutex plans_mutex_;
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
