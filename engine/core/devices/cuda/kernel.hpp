// What executes segments on a GPU, and how its values are made of host values and back.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "devices/cuda/private_pool.hpp"
#include "devices/cuda/value.hpp"

namespace engine::cuda {

class LaneThreads;

/// One submission: the stream of its lane, and memory for what it makes. The stream already waits
/// for all inputs. For one thread at a time.
class Launch {
 public:
  /// All but `api` outlive it.
  Launch(ApiPtr api, Streams& streams, DevicePool& memory, PinnedPool& pinned, std::uint32_t lane)
      : api_(std::move(api)), streams_(streams), memory_(memory), pinned_(pinned), lane_(lane) {}
  [[nodiscard]] const Api& api() const noexcept { return *api_; }
  [[nodiscard]] const ApiPtr& api_pointer() const noexcept { return api_; }
  [[nodiscard]] std::uint32_t lane() const noexcept { return lane_; }
  [[nodiscard]] StreamHandle stream() const noexcept { return streams_.handle(lane_); }
  /// Whether no other lane is at work: nobody waits if this one keeps its thread.
  [[nodiscard]] bool is_alone() const noexcept {
    return streams_.is_idle_beside(lane_, streams_.count() - copy_streams);
  }
  /// Throws Error of code out_of_memory.
  [[nodiscard]] Memory allocate(std::size_t bytes) {
    if (private_) return private_->allocate(bytes);
    try {
      return memory_.allocate(lane_, bytes);
    } catch (const Error& error) {
      ran_out_ = ran_out_ || error.code() == out_of_memory;
      throw;
    }
  }
  /// Whether there was not enough of it.
  [[nodiscard]] bool ran_out() const noexcept { return ran_out_; }
  /// Pinned host memory; the caller keeps it until the stream has passed its use.
  [[nodiscard]] Memory allocate_pinned(std::size_t bytes) { return pinned_.allocate(bytes, true); }
  /// Pinned memory that its user has let go of, but not yet the stream.
  void keep(Memory pinned) { kept_.push_back(std::move(pinned)); }
  /// What was kept so far, for the caller to hold until the stream has passed the submission.
  [[nodiscard]] std::vector<Memory> take_kept() noexcept { return std::exchange(kept_, {}); }
  /// That of the lane's stream.
  [[nodiscard]] DevicePool& memory() noexcept { return memory_; }
  /// From now on memory comes from there.
  void use(std::shared_ptr<PrivatePool> memory) noexcept { private_ = std::move(memory); }
  /// A graph was launched instead of operators.
  void note_replay() noexcept { is_replay_ = true; }
  [[nodiscard]] bool is_replay() const noexcept { return is_replay_; }

 private:
  const ApiPtr api_;
  Streams& streams_;
  DevicePool& memory_;
  PinnedPool& pinned_;
  const std::uint32_t lane_;
  std::shared_ptr<PrivatePool> private_ = nullptr;
  std::vector<Memory> kept_;
  bool is_replay_ = false;
  bool ran_out_ = false;
};

/// The work of a kernel on one lane as a graph that was captured once: it reads and writes the same
/// addresses each time. For the device's thread; destroyed when its stream has passed its work.
class Replay {
 public:
  using Values = std::vector<std::shared_ptr<const CudaValue>>;

  Replay() = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  virtual ~Replay() = default;
  [[nodiscard]] virtual const Values& inputs() const noexcept = 0;
  [[nodiscard]] virtual const Values& outputs() const noexcept = 0;
  /// Submits it to the stream that it was captured on. Throws Error.
  virtual void launch() = 0;
  /// As CudaKernel::abandon.
  virtual void abandon() noexcept {}
};

/// What a device has for its kernels; lives as long as they.
struct DeviceParts {
  ApiPtr api;
  Streams& streams;
  DevicePool& memory;
  PinnedPool& pinned;
  LaneThreads& threads;
  std::uint32_t first_lane;  ///< of the partition that the kernel is for: these streams
  std::uint32_t lanes;
};

/// Lanes of a GPU, a bit each.
using LaneSet = std::uint32_t;
inline constexpr LaneSet all_lanes = ~LaneSet{0};
static_assert(max_streams <= 32);
[[nodiscard]] constexpr bool has(LaneSet lanes, std::uint32_t lane) noexcept {
  return (lanes >> lane & 1U) != 0;
}

/// A segment on a GPU. Called by the device's thread, but for enqueue(), which a lane's thread may
/// call, for different lanes at once. Nothing is enqueued while one is opened, captured or
/// destroyed.
class CudaKernel : public Kernel {
 public:
  /// The lanes that it is open on, by which alone it may be submitted.
  [[nodiscard]] virtual LaneSet lanes() const noexcept { return all_lanes; }
  /// Opens it on one more. The device is idle, nobody captures. Throws std::exception saying why
  /// that cannot be; all is as before then.
  virtual void open(const DeviceParts& device, std::uint32_t lane) const {
    static_cast<void>(device), static_cast<void>(lane);
  }
  /// Submits the work to the launch's stream and makes the outputs (CudaValues), whose content is
  /// there when the stream comes that far. `inputs` are CudaValues, or null where an optional input
  /// is absent. Throws std::exception when it fails.
  virtual void enqueue(Launch& launch, std::span<const ValuePtr> inputs,
                       std::span<ValuePtr> outputs) const = 0;
  /// Whether enqueue() would replay a graph there, which is quickly done and the device's thread's
  /// to do: graphs belong to the thread that has captured them.
  [[nodiscard]] virtual bool replays(std::uint32_t lane, std::span<const ValuePtr> inputs) const {
    static_cast<void>(lane), static_cast<void>(inputs);
    return false;
  }
  /// Captures the work on the launch's stream, for inputs of the only sizes that it takes. The
  /// device is idle. Throws std::exception saying why that cannot be.
  [[nodiscard]] virtual std::unique_ptr<Replay> capture(Launch& launch) const;
  /// The device is lost, the kernel will be destroyed: it keeps for good what could only be freed
  /// by calls that fail now.
  virtual void abandon() const noexcept {}
  /// Always throws: a GPU's kernel has no meaning without a stream.
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const final;
};

/// Ties a CudaDevice to a kind of values and kernels. Thread-safe.
class Backend {
 public:
  struct HostTensor {
    const void* data = nullptr;
    TensorInfo info;
  };

  virtual ~Backend() = default;
  /// Throws std::runtime_error for what has no place in a GPU's memory, such as strings.
  [[nodiscard]] virtual HostTensor read(const Value& host) const = 0;
  /// A host value over `memory`, which it keeps.
  [[nodiscard]] virtual ValuePtr make_host(Memory memory, const TensorInfo& info) const = 0;
  /// What runs a kernel that was built for a node of this device. On the device's thread, where it
  /// is also destroyed. Throws std::runtime_error.
  [[nodiscard]] virtual std::shared_ptr<const CudaKernel> adapt(
      std::shared_ptr<const Kernel> kernel, const DeviceParts& device) const = 0;
  /// A lane's stream is about to go; what was open on it has gone, or is kept for good.
  virtual void forget(StreamHandle lane) const { static_cast<void>(lane); }
};

}  // namespace engine::cuda
