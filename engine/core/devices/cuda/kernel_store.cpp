#include "devices/cuda/kernel_store.hpp"

#include <algorithm>
#include <future>
#include <stdexcept>

#include "devices/cuda/captures.hpp"
#include "devices/cuda/graph.hpp"
#include "scheduler/clock.hpp"

namespace engine::cuda {

namespace {

constexpr std::int64_t gap_ns = 1'000'000;
constexpr std::int64_t patience_ns = 100'000'000;
constexpr std::int64_t opening_share = 4;

}  // namespace

std::shared_ptr<const Kernel> KernelStore::prepare(std::size_t partition,
                                                   std::shared_ptr<const Kernel> kernel,
                                                   std::uint32_t lane) {
  if (auto made = std::dynamic_pointer_cast<const CudaKernel>(kernel))
    return make([&] { return made; });
  return make_when_idle([&] {
    return opened(gpu_.params.backend->adapt(std::move(kernel), gpu_.parts(partition)), partition,
                  lane);
  });
}

std::shared_ptr<const Kernel> KernelStore::capture(std::size_t partition,
                                                   std::shared_ptr<const Kernel> prepared,
                                                   std::uint32_t lane) {
  const auto* slot = dynamic_cast<const KernelSlot*>(prepared.get());
  if (slot == nullptr) return prepared;  // nothing to execute
  return make_when_idle([&] {
    return opened(std::make_shared<const CapturedKernel>(slot->kernel(), gpu_.parts(partition)),
                  partition, lane);
  });
}

/// Opens a kernel on as many lanes as it is to have with its plan, from `lane` on.
std::shared_ptr<const CudaKernel> KernelStore::opened(std::shared_ptr<const CudaKernel> kernel,
                                                      std::size_t partition, std::uint32_t lane) {
  const DeviceParts device = gpu_.parts(partition);
  const auto count = static_cast<std::uint32_t>(gpu_.params.lanes_at_once);
  try {
    for (std::uint32_t i = 0; i < std::min(count, device.lanes); ++i) {
      const std::uint32_t next = device.first_lane + (lane + i) % device.lanes;
      if (!has(kernel->lanes(), next)) kernel->open(device, next);
    }
  } catch (const Error& error) {
    if (error.is_fatal()) kernel->abandon();
    throw;
  }
  return kernel;
}

/// Captures, and sessions that open and fill memory without a stream, allow nothing beside them on
/// this device, and no other of either kind in the process: it is the caller's turn.
template <typename Maker>
auto KernelStore::alone(const Maker& maker) {
  device_.settle();
  if (!gpu_.health.fatal.empty()) throw std::runtime_error(gpu_.health.fatal);
  try {
    auto made = maker();
    gpu_.mark_lanes();
    return made;
  } catch (const Error& error) {
    if (error.is_fatal()) gpu_.health.fatal = error.what();
    gpu_.mark_lanes();
    throw;
  } catch (...) {
    gpu_.mark_lanes();
    throw;
  }
}

std::shared_ptr<const Kernel> KernelStore::make_when_idle(const KernelMaker& maker) {
  return make([&] {
    device_.settle();  // before others have to wait for our turn to end
    const auto turn = capture_turn();
    return alone(maker);
  });
}

/// Makes a kernel on the device's thread, which also destroys it.
std::shared_ptr<const Kernel> KernelStore::make(const KernelMaker& maker) {
  // The text and not the exception: two threads would hold and free one.
  std::promise<std::pair<std::shared_ptr<KernelSlot>, std::string>> made;
  const auto call = [&] {
    try {
      if (gpu_.health.is_lost()) throw std::runtime_error(gpu_.health.lost);
      auto slot = std::make_shared<KernelSlot>(maker());
      kernels_.insert(slot);
      made.set_value({std::move(slot), {}});
    } catch (const std::exception& error) {
      // Lost before the caller hears of it, who may look at once.
      lose_now();
      made.set_value({nullptr, gpu_.health.is_lost() ? gpu_.health.lost : error.what()});
    }
  };
  if (!calls_->push(call)) throw std::runtime_error("device '" + gpu_.name + "' is closed");
  auto [slot, failure] = made.get_future().get();
  if (slot == nullptr) throw std::runtime_error(failure);
  const Kernel* const handle = slot.get();
  return {handle, [this, calls = calls_, held = slot](const Kernel*) mutable {
            // Refused once closed: then close() has destroyed the kernel.
            calls->push([this, last = std::move(held)] { drop(last); });
          }};
}

void KernelStore::drop(const std::shared_ptr<KernelSlot>& slot) {
  device_.end_launches();  // ONNX Runtime may be told of the end of a session by no other thread
  const auto turn = capture_turn();
  std::erase_if(wishes_, [&](const Wish& wish) { return wish.kernel == slot.get(); });
  slot->clear(!gpu_.health.is_well());
  kernels_.erase(slot);
  gpu_.mark_lanes();
  returns_memory_ = true;
}

void KernelStore::wish(const PlanNode& node, std::size_t partition, std::uint32_t lane) {
  const auto* kernel = static_cast<const KernelSlot*>(node.kernel);  // make() made it
  if (kernel->ask(lane)) wishes_.push_back({kernel, partition, lane, now_ns()});
}

bool KernelStore::open_further(std::optional<std::int64_t> quiet_since_ns) {
  if (wishes_.empty() || gpu_.health.is_lost()) return false;
  const std::int64_t now = now_ns();
  const bool is_idle = quiet_since_ns && now >= *quiet_since_ns + gap_ns;
  const bool is_due = now >= std::max(wishes_.front().since_ns + patience_ns, next_opening_ns_);
  if (!is_idle && !is_due) return false;
  const auto turn = try_capture_turn();
  if (!turn) return false;
  const Wish wish = wishes_.front();
  wishes_.pop_front();
  open(wish);
  const std::int64_t end = now_ns();
  next_opening_ns_ = end + opening_share * (end - now);
  return true;
}

/// One that cannot be opened, for lack of memory, stays on the lanes that it has.
void KernelStore::open(const Wish& wish) {
  Partition& partition = gpu_.partitions[wish.partition];
  std::atomic<std::uint64_t>* count = &partition.refused;
  try {
    alone([&] {
      wish.kernel->open(gpu_.parts(wish.partition), wish.lane);
      return true;
    });
    count = &partition.opened;
  } catch (const std::exception&) {
    if (!gpu_.health.fatal.empty()) return lose_now();
  }
  count->fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
}

void KernelStore::return_memory() {
  if (!returns_memory_) return;
  gpu_.memory().give_back_idle();
  returns_memory_ = false;
}

void KernelStore::clear() {
  for (const auto& slot : kernels_) slot->clear(!gpu_.health.is_well());
  kernels_.clear();
}

/// Acts on a fatal error, if there was one.
void KernelStore::lose_now() {
  if (!gpu_.health.fatal.empty()) device_.lose(std::exchange(gpu_.health.fatal, {}));
}

}  // namespace engine::cuda
