// An NVIDIA GPU: its lanes are streams, and one thread decides what is submitted to them.
#pragma once

#include <array>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "broker/device_lease.hpp"
#include "devices/cuda/backlog.hpp"
#include "devices/cuda/gpu.hpp"
#include "devices/cuda/in_flight.hpp"
#include "devices/cuda/kernel_store.hpp"
#include "devices/device.hpp"
#include "scheduler/inbox.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/parker.hpp"
#include "scheduler/ready_nodes.hpp"

namespace engine::cuda {

/// Streams of kernels that all partitions of a GPU have together, at most.
inline constexpr int max_lanes = static_cast<int>(max_streams - copy_streams);

/// A node is *submitted* once and *ends* when the event behind its work has passed. Its successors
/// on this device are ready when it is submitted: their stream comes after its event, the host is
/// not asked. All others (host memory, other devices, the end of the run) are ready when it ends.
/// Events are polled; nothing here waits for the GPU.
///
/// Lanes are streams 0 to L - 1. Copies have a stream for each direction, and go through pinned
/// memory; a copy into the host ends with a host value. A copy from another GPU is this one's, and
/// begins when what makes its value has ended there: no event of another GPU is waited for. A
/// stream holds at most `queue_depth` submissions, so that an urgent node overtakes the rest.
///
/// The GPU may be divided into partitions of its SMs, green contexts: each is a device of its own
/// with its own lanes, the first of them this object, the others CudaPartitions. They share the
/// threads, the memory and the copies. Where the driver cannot divide it, their lanes are
/// streams of the whole GPU, and warning() says so.
///
/// A kernel goes to lanes that it is open on (kernel_store.hpp). A launch that may keep its thread
/// is made by the lane's own (lane_threads.hpp): the lane is *launching* meanwhile, and takes
/// nothing else. All that comes before and after it, as all there is besides, is the device's
/// thread's.
///
/// Kernels of other processes go to the GPU in turns with ours, the most urgent first
/// (device_lease.hpp); copies do not wait for that.
///
/// The device's thread counts as running in the machine's thread budget while it is awake, which
/// it is as long as work is on the GPU.
///
/// A node that fails (out of memory, a kernel that throws) fails its run. A fatal CUDA error loses
/// the device: every run that has or gets a node on it fails with that error, none hangs.
class CudaDevice final : public Device {
 public:
  CudaDevice(const GpuParams& params, Machine& machine);
  ~CudaDevice() override { stop(); }

  /// Throws std::runtime_error if CUDA or the GPU cannot be used.
  void start() override;
  void stop() noexcept override;
  void push(const Task& task) override;
  void push_all(std::span<const Task> tasks) override;
  void kick() noexcept override;
  /// It copies by itself, and what is charged instead of burnt elsewhere is not burnt here.
  [[nodiscard]] bool is_timed() const noexcept override { return true; }
  [[nodiscard]] bool opens_sessions() const noexcept override { return true; }
  /// Adapts a kernel, on the device's thread of an idle GPU; that thread will also destroy it.
  [[nodiscard]] std::shared_ptr<const Kernel> prepare(std::shared_ptr<const Kernel> kernel,
                                                      std::uint32_t lane) override {
    return kernels_.prepare(0, std::move(kernel), lane);
  }
  /// Waits until the GPU is idle.
  [[nodiscard]] std::shared_ptr<const Kernel> capture(std::shared_ptr<const Kernel> prepared,
                                                      std::uint32_t lane) override {
    return kernels_.capture(0, std::move(prepared), lane);
  }
  [[nodiscard]] bool has_own_memory() const noexcept override { return true; }
  [[nodiscard]] bool shares_memory_with(const Device& other) const noexcept override;
  [[nodiscard]] std::string warning() const override { return gpu_.warning; }
  [[nodiscard]] DeviceStats stats() const override { return stats_of(0); }
  [[nodiscard]] std::string failure() const override;

  /// CUDA's number of the GPU.
  [[nodiscard]] int ordinal() const noexcept { return gpu_.params.ordinal; }
  [[nodiscard]] int instance() const noexcept { return gpu_.params.instance; }

  // --- the same for each partition ---
  [[nodiscard]] std::size_t partition_of(std::uint32_t executor) const noexcept {
    return backlog_.partition_of(executor);
  }
  [[nodiscard]] KernelStore& kernels() noexcept { return kernels_; }
  [[nodiscard]] DeviceStats stats_of(std::size_t partition) const;

 private:
  /// A copy that waits for pinned memory.
  struct Held {
    Task task;
    NodeValues values;
  };

  struct Failure {
    std::string why;
    bool is_fatal;
  };

  /// A node on its way into the stream of a lane.
  struct Launching {
    Task task = {};
    std::int64_t start_ns = 0;
    NodeValues values = {};
    const KernelSlot* kernel = nullptr;  ///< null: nothing to execute
    std::optional<Launch> launch = {};
    std::optional<Failure> failure = {};
    std::int64_t took_ns = 0;
    std::vector<Memory> kept = {};  ///< of an earlier try
    bool is_alone = false;          ///< no other lane is launching meanwhile
    LaneThreads::Job job = {};      ///< what the lane's thread does, made once
  };

  /// None: all that may be taken are full.
  struct LaneChoice {
    std::optional<std::uint32_t> lane, wished = std::nullopt;
  };

  void work(std::promise<void>& opened);
  bool step();
  void drain();
  bool end_passed();
  bool submit_next();
  [[nodiscard]] bool has_room(std::uint32_t stream) const;
  [[nodiscard]] bool copies_in_flight() const noexcept {
    return in_flight_.count(gpu_.in_stream) + in_flight_.count(gpu_.out_stream) > 0;
  }
  [[nodiscard]] LaneChoice choose_lane(const Task& task, const Partition& partition) const;
  bool submit_kernel(std::size_t partition);
  [[nodiscard]] bool is_leased(const PlanNode& node) const noexcept;
  [[nodiscard]] bool may_submit(const Task& task);
  void let_others();
  [[nodiscard]] bool kernels_in_flight() const noexcept;
  void enqueue(const Task& task, const PlanNode& node, std::uint32_t lane);
  void begin_launch(std::uint32_t lane);
  [[nodiscard]] bool starve(std::uint32_t lane);
  void feed();
  [[nodiscard]] bool is_launching() const noexcept {
    return (launching_lanes_ | starved_lanes_) != 0;
  }
  static void launch(Launching& launching) noexcept;
  void end_launch(std::uint32_t lane);
  bool end_launches();
  [[nodiscard]] bool has_ended_launch() noexcept;
  void await_launches();
  void abandon_launches();
  bool submit_copy(Backlog::Queue queue);
  bool copy_in(Held& held);
  bool copy_out(Held& held);
  [[nodiscard]] ValuePtr send(const TensorInfo& info, const void* source);
  [[nodiscard]] ValuePtr fetch(const Device& from, const CudaValue& source);
  bool give_up(Held& held);
  bool record(Submitted& entry, std::uint32_t stream);
  void abandon(const Task& task, NodeValues& values);
  [[nodiscard]] static Failure failure_of(const std::exception& error);
  void fail(const Task& task, const Failure& failure);
  void pass_on(const Task& task, const PlanNode& node);
  void end(Submitted& entry);
  [[nodiscard]] bool has_rest(const Task& task, const PlanNode& node) const;
  void receive(Submitted& entry);
  void complete_rest(const Task& task, const PlanNode& node, bool is_copy_out);
  void skip(const Task& task);
  void complete_skipped(const Task& task);
  void end_skipped(const Run* run);
  void hand_over();
  void lose(const std::string& why);
  void park();
  template <typename Condition>
  [[nodiscard]] bool poll_until(Condition&& condition);

  Machine& machine_;
  const std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
  Gpu gpu_;
  KernelStore kernels_;
  Inbox inbox_;
  std::atomic<bool> kicked_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> backlog_size_{0};
  mutable std::mutex failure_mutex_;  // guards failure_
  std::string failure_;
  std::thread thread_;

  // All below: the device's thread's own, but for what a launching lane's thread works on.
  std::optional<broker::DeviceLease> lease_;  ///< once the GPU is open
  Backlog backlog_;
  std::vector<Task> arrivals_;
  InFlight in_flight_;
  std::vector<Launching> launching_;  ///< by lane
  LaneSet launching_lanes_ = 0;
  LaneSet starved_lanes_ = 0;  ///< whose launch needs memory that others were launching with
  bool copy_starves_ = false;  ///< the same of a copy: until it goes on no lane launches more
  std::vector<Task> skipped_;  ///< behind submissions of their run
  std::array<std::optional<Held>, Backlog::kernels> held_;
  ReadyNodes made_ready_;
  std::vector<std::int64_t> busy_until_ns_;  ///< per stream: when its last node ended
  NodeValues scratch_;
  std::int64_t last_progress_ns_ = 0;
  std::int64_t next_scan_ns_ = 0;
};

/// A further partition of a GPU: all is done by the GPU's device. Thread-safe as that is.
class CudaPartition final : public Device {
 public:
  /// `gpu` goes after its last use.
  CudaPartition(const DeviceParams& params, std::uint32_t executor, CudaDevice& gpu)
      : Device(params.name, params.lanes), gpu_(gpu), partition_(gpu.partition_of(executor)) {}

  void start() override {}
  void stop() noexcept override {}
  void push(const Task& task) override { gpu_.push(task); }
  void push_all(std::span<const Task> tasks) override { gpu_.push_all(tasks); }
  [[nodiscard]] bool opens_sessions() const noexcept override { return true; }
  [[nodiscard]] bool is_timed() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<const Kernel> prepare(std::shared_ptr<const Kernel> kernel,
                                                      std::uint32_t lane) override {
    return gpu_.kernels().prepare(partition_, std::move(kernel), lane);
  }
  [[nodiscard]] std::shared_ptr<const Kernel> capture(std::shared_ptr<const Kernel> prepared,
                                                      std::uint32_t lane) override {
    return gpu_.kernels().capture(partition_, std::move(prepared), lane);
  }
  [[nodiscard]] bool has_own_memory() const noexcept override { return true; }
  [[nodiscard]] bool shares_memory_with(const Device& other) const noexcept override {
    return gpu_.shares_memory_with(other);
  }
  [[nodiscard]] DeviceStats stats() const override { return gpu_.stats_of(partition_); }
  [[nodiscard]] std::string failure() const override { return gpu_.failure(); }
  [[nodiscard]] std::string warning() const override { return gpu_.warning(); }
  [[nodiscard]] const CudaDevice& gpu() const noexcept { return gpu_; }

 private:
  CudaDevice& gpu_;
  const std::size_t partition_;
};

/// The GPU that a device is, or is a partition of; null if it is none.
[[nodiscard]] const CudaDevice* gpu_behind(const Device& device) noexcept;

}  // namespace engine::cuda
