// What the scheduler needs from a device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "devices/kernel.hpp"
#include "scheduler/task.hpp"

namespace engine {

class CpuDevice;

/// Counters of one device since its start.
struct DeviceStats {
  std::uint64_t executed = 0;      ///< nodes whose work was done (skipped ones do not count)
  std::uint64_t queued = 0;        ///< ready nodes that wait now
  int held = 0;                    ///< lanes whose operators outlive their queries (HeldLanes)
  std::uint64_t helper_wakes = 0;  ///< times that a caller who helps was woken from its sleep
  std::uint64_t replayed = 0;      ///< of the executed, those that launched a captured graph
  std::uint64_t by_lanes = 0;      ///< kernels that a thread of a GPU's lane has launched
  std::uint64_t opened = 0;        ///< kernels that were opened on a further lane for overlaps
  std::uint64_t refused = 0;       ///< those of which that failed: they stay on their other lanes
  std::size_t memory_bytes = 0;    ///< of a GPU's memory, what the device holds
  std::size_t used_bytes = 0;      ///< of these, what values, weights and graphs use
};

/// Executes ready nodes. start() and stop() are called once, by the machine, stop() only when no
/// run is in flight; everything else is thread-safe.
class Device {
 public:
  Device(std::string name, int lanes) : name_(std::move(name)), lanes_(lanes) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual void start() = 0;
  /// Joins the device's threads.
  virtual void stop() noexcept = 0;
  /// Hands over a ready node. Never blocks.
  virtual void push(const Task& task) = 0;
  /// Hands over nodes that became ready at one moment; a device with a clock sees all or none.
  virtual void push_all(std::span<const Task> tasks) {
    for (const Task& task : tasks) push(task);
  }
  /// A run was stopped: nodes of it that wait for a clock may end now. Never blocks.
  virtual void kick() noexcept {}
  /// Whether tasks need `ready_ns`: the device has a clock of its own.
  [[nodiscard]] virtual bool is_timed() const noexcept { return false; }
  /// Whether prepare() wants sessions that are not open yet: it opens them itself.
  [[nodiscard]] virtual bool opens_sessions() const noexcept { return false; }
  /// Gives the device the chance to wrap or refuse a kernel when a plan is built; a device that
  /// opens it by lane does so on `lane`, below lanes(). Throws std::runtime_error when it refuses.
  [[nodiscard]] virtual std::shared_ptr<const Kernel> prepare(std::shared_ptr<const Kernel> kernel,
                                                              std::uint32_t lane) {
    static_cast<void>(lane);
    return kernel;
  }
  /// A prepared kernel as one captured graph of its operators, on the lane that it was prepared
  /// for. Throws std::runtime_error saying why that cannot be: its operators are then launched one
  /// by one.
  [[nodiscard]] virtual std::shared_ptr<const Kernel> capture(
      std::shared_ptr<const Kernel> prepared, std::uint32_t lane) {
    static_cast<void>(prepared), static_cast<void>(lane);
    throw std::runtime_error("device '" + name_ + "' captures no graphs");
  }
  /// The plugin provider on which sessions for it are made; empty: ONNX Runtime's own kernels.
  [[nodiscard]] virtual std::string provider() const { return {}; }
  /// Whether another device reads its values where they lie.
  [[nodiscard]] virtual bool shares_memory_with(const Device& other) const noexcept {
    return this == &other;
  }
  /// Its lanes, where callers who wait may take them.
  [[nodiscard]] virtual CpuDevice* helper() noexcept { return nullptr; }
  /// Bytes of values that it holds at most, where the machine's meter is to watch that; 0: it does
  /// not.
  [[nodiscard]] virtual std::size_t metered_bytes() const noexcept { return 0; }
  /// What is not as it was asked for; empty if all is. Thread-safe.
  [[nodiscard]] virtual std::string warning() const { return {}; }
  /// Whether its values lie where the host cannot read them.
  [[nodiscard]] virtual bool has_own_memory() const noexcept { return false; }
  [[nodiscard]] virtual DeviceStats stats() const = 0;
  /// Why the device is lost for good, its runs fail; empty as long as it works. Thread-safe.
  [[nodiscard]] virtual std::string failure() const { return {}; }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] int lanes() const noexcept { return lanes_; }

 private:
  const std::string name_;
  const int lanes_;
};

}  // namespace engine
