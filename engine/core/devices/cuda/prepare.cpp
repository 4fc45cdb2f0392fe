// How a CUDA device makes, opens, captures and drops the kernels of plans, on its submitting
// thread.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "devices/cuda/captures.hpp"
#include "devices/cuda/cuda_device.hpp"
#include "devices/cuda/graph.hpp"

namespace engine::cuda {

namespace {

constexpr std::int64_t gap_ns = 1'000'000;
constexpr std::int64_t patience_ns = 100'000'000;
constexpr std::int64_t opening_share = 20;

}  // namespace

std::shared_ptr<const Kernel> CudaDevice::prepare_on(std::size_t partition,
                                                     std::shared_ptr<const Kernel> kernel,
                                                     std::uint32_t lane) {
  if (auto made = std::dynamic_pointer_cast<const CudaKernel>(kernel))
    return make([&] { return made; });
  return make_when_idle([&] {
    return opened(params_.backend->adapt(std::move(kernel), parts(partition)), partition, lane);
  });
}

std::shared_ptr<const Kernel> CudaDevice::capture_on(std::size_t partition,
                                                     std::shared_ptr<const Kernel> prepared,
                                                     std::uint32_t lane) {
  const auto* slot = dynamic_cast<const KernelSlot*>(prepared.get());
  if (slot == nullptr) return prepared;  // nothing to execute
  return make_when_idle([&] {
    return opened(std::make_shared<const CapturedKernel>(slot->kernel(), parts(partition)),
                  partition, lane);
  });
}

/// Opens a kernel on as many lanes as it is to have with its plan, from `lane` on.
std::shared_ptr<const CudaKernel> CudaDevice::opened(std::shared_ptr<const CudaKernel> kernel,
                                                     std::size_t partition, std::uint32_t lane) {
  const DeviceParts device = parts(partition);
  const auto count = static_cast<std::uint32_t>(params_.lanes_at_once);
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
auto CudaDevice::alone(const Maker& maker) {
  settle();
  if (!fatal_.empty()) throw std::runtime_error(fatal_);
  try {
    auto made = maker();
    mark_lanes();
    return made;
  } catch (const Error& error) {
    if (error.is_fatal()) fatal_ = error.what();
    mark_lanes();
    throw;
  } catch (...) {
    mark_lanes();
    throw;
  }
}

std::shared_ptr<const Kernel> CudaDevice::make_when_idle(const KernelMaker& maker) {
  return make([&] {
    settle();  // before others have to wait for our turn to end
    const auto turn = capture_turn();
    return alone(maker);
  });
}

/// Makes a kernel on the submitting thread, which also destroys it.
std::shared_ptr<const Kernel> CudaDevice::make(const KernelMaker& maker) {
  // The text and not the exception: two threads would hold and free one.
  std::promise<std::pair<std::shared_ptr<KernelSlot>, std::string>> made;
  const auto call = [&] {
    try {
      if (!lost_.empty()) throw std::runtime_error(lost_);
      auto slot = std::make_shared<KernelSlot>(maker());
      kernels_.insert(slot);
      made.set_value({std::move(slot), {}});
    } catch (const std::exception& error) {
      // Lost before the caller hears of it, who may look at once.
      if (!fatal_.empty()) lose(std::exchange(fatal_, {}));
      made.set_value({nullptr, lost_.empty() ? error.what() : lost_});
    }
  };
  if (!calls_->push(call)) throw std::runtime_error("device '" + name() + "' is closed");
  auto [slot, failure] = made.get_future().get();
  if (slot == nullptr) throw std::runtime_error(failure);
  const Kernel* const handle = slot.get();
  return {handle, [this, calls = calls_, held = slot](const Kernel*) mutable {
            // Refused once the device is closed: then close() has destroyed the kernel.
            calls->push([this, last = std::move(held)] { drop(last); });
          }};
}

void CudaDevice::drop(const std::shared_ptr<KernelSlot>& slot) {
  const auto turn = capture_turn();
  std::erase_if(wishes_, [&](const Wish& wish) { return wish.kernel == slot.get(); });
  slot->clear(!lost_.empty() || !fatal_.empty());
  kernels_.erase(slot);
  mark_lanes();
  returns_memory_ = true;
}

/// A point in every lane behind all that was submitted without being a node.
void CudaDevice::mark_lanes() noexcept {
  try {
    for (std::uint32_t lane = 0; lost_.empty() && lane < in_stream_; ++lane)
      static_cast<void>(streams_->record(lane));
  } catch (const std::exception& error) {
    fatal_ = error.what();
  }
}

/// Waits until the GPU is idle: for what may not happen beside other work.
void CudaDevice::settle() {
  while (lost_.empty() && fatal_.empty() && !streams_->is_idle())
    if (!look()) std::this_thread::yield();
}

void CudaDevice::wish(const PlanNode& node, std::size_t partition, std::uint32_t lane) {
  const auto* kernel = static_cast<const KernelSlot*>(node.kernel);  // make() made it
  if (kernel->ask(lane)) wishes_.push_back({kernel, partition, lane, now_ns()});
}

/// Opens one kernel on a lane that was wished for, between queries: where nothing has happened for
/// a millisecond. Where queries leave no such gap for a tenth of a second, they wait for it, for a
/// twentieth of the time at most. Never while another thread of the process opens or captures.
bool CudaDevice::open_further(bool moved) {
  if (wishes_.empty() || !lost_.empty()) return false;
  const std::int64_t now = now_ns();
  const bool is_idle = !moved && runs_in_flight_.empty() && now >= last_progress_ns_ + gap_ns;
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
void CudaDevice::open(const Wish& wish) {
  Partition& partition = partitions_[wish.partition];
  std::atomic<std::uint64_t>* count = &partition.refused;
  try {
    alone([&] {
      wish.kernel->open(parts(wish.partition), wish.lane);
      return true;
    });
    count = &partition.opened;
  } catch (const std::exception&) {
    if (!fatal_.empty()) return lose(std::exchange(fatal_, {}));
  }
  count->fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
}

DeviceParts CudaDevice::parts(std::size_t partition) {
  const Partition& part = partitions_[partition];
  return {api_, *streams_, *memory_, *pinned_, part.first_lane, part.lanes};
}

}  // namespace engine::cuda
