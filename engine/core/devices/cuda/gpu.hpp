// A GPU as it is open: its streams, its memory, its partitions, and what went wrong with it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "devices/cuda/driver.hpp"
#include "devices/cuda/kernel.hpp"
#include "devices/cuda/lane_threads.hpp"
#include "devices/cuda/params.hpp"
#include "devices/params.hpp"

namespace engine::cuda {

/// What a GPU is opened with.
struct GpuParams {
  std::vector<DeviceParams> partitions;  ///< devices of the machine that are this GPU
  std::vector<std::uint32_t> executors;  ///< their places in it
  std::vector<int> others;               ///< CUDA's numbers of its other GPUs
};

/// A device of the machine: lanes of the GPU, on some of its SMs or on all.
struct Partition {
  DeviceParams params;
  std::uint32_t first_lane, lanes;
  std::atomic<std::uint64_t> executed{0}, replayed{0}, by_lanes{0}, opened{0}, refused{0};
};

struct Health {
  std::string fatal;  ///< an error that was seen, and not yet acted on
  std::string lost;   ///< why the device is lost
  [[nodiscard]] bool is_lost() const noexcept { return !lost.empty(); }
  [[nodiscard]] bool is_well() const noexcept { return fatal.empty() && lost.empty(); }
};

/// What a device has of its GPU. Lanes are streams 0 to in_stream - 1, and the streams of copies
/// come after them. For the device's thread, which opens it; others may read `params`, `warning`
/// and the partitions once it is open, and ask for stats().
class Gpu {
 public:
  /// `news` is notified by lanes' threads. Both outlive it.
  Gpu(const GpuParams& opened, Machine& machine, EventCount& news);

  /// Throws Error, or std::exception naming what is wrong.
  void open();
  /// Memory, then streams; sessions have gone before. Values that callers still hold keep their
  /// chunks.
  void close();

  /// Polls all streams once; whether one has come further. A failure is kept in health.fatal.
  bool look() noexcept;
  /// Waits until the GPU is idle, where no lane is launching: for what may not happen beside other
  /// work.
  void settle();
  /// A point in every lane behind all that was submitted without being a node.
  void mark_lanes() noexcept;
  /// What kernels of a partition get.
  [[nodiscard]] DeviceParts parts(std::size_t partition);
  /// Thread-safe.
  [[nodiscard]] DevicePool::Stats memory_stats() const { return memory_->stats(); }

  /// Where it is plugged in, which is the same for all processes of the host.
  [[nodiscard]] std::string bus_id() const;
  [[nodiscard]] const ApiPtr& api() const noexcept { return api_; }
  [[nodiscard]] Streams& streams() noexcept { return *streams_; }
  [[nodiscard]] DevicePool& memory() noexcept { return *memory_; }
  [[nodiscard]] PinnedPool& pinned() noexcept { return *pinned_; }
  [[nodiscard]] LaneThreads& threads() noexcept { return threads_; }

  const CudaParams params;  ///< the first partition's: what they share
  const std::string name;
  std::deque<Partition> partitions;
  const std::uint32_t in_stream, out_stream;
  Health health;
  std::string warning;

 private:
  void reach_others() const noexcept;
  void divide();
  [[nodiscard]] StreamHandle make_stream(std::uint32_t stream);

  const std::size_t memory_bytes_;
  const std::vector<int> others_;
  ApiPtr api_;
  std::unique_ptr<Partitions> green_contexts_;  ///< null: streams of the whole GPU
  std::unique_ptr<Streams> streams_;
  std::shared_ptr<DevicePool> memory_;
  std::shared_ptr<PinnedPool> pinned_;
  LaneThreads threads_;
};

}  // namespace engine::cuda
