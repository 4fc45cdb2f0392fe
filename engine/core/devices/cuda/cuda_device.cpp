#include "devices/cuda/cuda_device.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstring>

#include "devices/cuda/captures.hpp"

namespace engine::cuda {

namespace {

constexpr std::int64_t poll_interval_ns = 20'000;     ///< when nothing has happened for a while
constexpr std::int64_t spin_after_ns = 200'000;       ///< how long polling goes without a pause
constexpr std::int64_t scan_interval_ns = 1'000'000;  ///< for deadlines that have passed

}  // namespace

void CudaKernel::execute(std::span<const ValuePtr>, std::span<ValuePtr>, CancelToken*) const {
  throw std::logic_error("a GPU's kernel cannot be executed by the host");
}

CudaDevice::CudaDevice(const GpuParams& params, Machine& machine)
    : Device(params.partitions.front().name, params.partitions.front().lanes),
      machine_(machine),
      gpu_(params, machine, calls_->sleeper()),
      kernels_(gpu_, calls_,
               {.settle =
                    [this] {
                      await_launches();
                      gpu_.settle();
                    },
                .end_launches = [this] { await_launches(); },
                .lose = [this](const std::string& why) { lose(why); }}),
      backlog_(params.executors),
      in_flight_(gpu_.out_stream + 1),
      launching_(gpu_.in_stream),
      busy_until_ns_(gpu_.out_stream + 1, 0) {
  for (Launching& launching : launching_) launching.job = [&launching] { launch(launching); };
}

const CudaDevice* gpu_behind(const Device& device) noexcept {
  if (const auto* part = dynamic_cast<const CudaPartition*>(&device)) return &part->gpu();
  return dynamic_cast<const CudaDevice*>(&device);
}

bool CudaDevice::shares_memory_with(const Device& other) const noexcept {
  return gpu_behind(other) == this;
}

void CudaDevice::start() {
  std::promise<void> opened;
  thread_ = std::thread([this, &opened] { work(opened); });
  opened.get_future().get();
}

void CudaDevice::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  kernels_.calls().sleeper().notify_all();
  if (thread_.joinable()) thread_.join();
}

void CudaDevice::push(const Task& task) { push_all({&task, 1}); }

void CudaDevice::push_all(std::span<const Task> tasks) {
  inbox_.push_all(tasks);
  kernels_.calls().sleeper().notify(1);
}

void CudaDevice::kick() noexcept {
  kicked_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  kernels_.calls().sleeper().notify(1);
}

DeviceStats CudaDevice::stats_of(std::size_t partition) const {
  const DevicePool::Stats memory = gpu_.memory_stats();
  const Partition& part = gpu_.partitions[partition];
  // relaxed, all: statistics
  return {.executed = part.executed.load(std::memory_order_relaxed),
          .queued = inbox_.size() + backlog_size_.load(std::memory_order_relaxed),
          .replayed = part.replayed.load(std::memory_order_relaxed),
          .by_lanes = part.by_lanes.load(std::memory_order_relaxed),
          .opened = part.opened.load(std::memory_order_relaxed),
          .refused = part.refused.load(std::memory_order_relaxed),
          .memory_bytes = memory.device_bytes,
          .used_bytes = memory.used_bytes};
}

std::string CudaDevice::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void CudaDevice::work(std::promise<void>& opened) {
  prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would delay every poll
  try {
    gpu_.open();
    lease_.emplace(machine_.broker(), broker::device_number(gpu_.bus_id()));
  } catch (const Error& error) {
    const std::string advice =
        error.is_fatal() ? "; if CUDA lost the GPU before, the process must be restarted" : "";
    opened.set_exception(std::make_exception_ptr(
        std::runtime_error("device '" + name() + "': " + error.what() + advice)));
    return kernels_.calls().close();
  } catch (...) {
    opened.set_exception(std::current_exception());
    return kernels_.calls().close();
  }
  opened.set_value();
  machine_.budget().add_running(1);
  while (!stopping_.load(std::memory_order_seq_cst)) {  // seq_cst: tested before parking
    if (!step()) park();
  }
  machine_.budget().remove_running(1);
  lease_.reset();
  kernels_.calls().close();
  await_launches();
  gpu_.settle();
  const auto turn = capture_turn();  // all that follows waits for the whole GPU
  kernels_.clear();
  gpu_.close();
}

/// One round; false if nothing happened.
bool CudaDevice::step() {
  const bool called = kernels_.calls().run_all();
  drain();
  if (gpu_.health.is_lost()) {
    lease_->end();
    // Each node that ends may make others ready, of any queue.
    for (auto task = backlog_.pop_any(); task; task = backlog_.pop_any()) {
      task->run->fail(task->node, gpu_.health.lost);
      skip(*task);
    }
    return called;
  }
  bool moved = called;
  try {
    moved |= end_launches();
    if (gpu_.health.is_lost()) return true;
    moved |= end_passed();
    moved |= submit_next();
    let_others();
    const bool is_empty = in_flight_.empty() && !is_launching();
    if (is_empty && gpu_.streams().is_idle()) kernels_.return_memory();
    const bool is_quiet = !moved && is_empty;
    moved |= kernels_.open_further(is_quiet ? std::optional(last_progress_ns_) : std::nullopt);
  } catch (const std::exception& error) {
    lose(error.what());
    moved = true;
  }
  if (moved) last_progress_ns_ = now_ns();
  return moved;
}

void CudaDevice::drain() {
  inbox_.take_all(arrivals_);
  for (const Task& task : arrivals_) backlog_.push(task);
  const bool kicked = kicked_.exchange(false, std::memory_order_seq_cst);  // seq_cst: see kick()
  if (const std::int64_t now = now_ns(); kicked || now >= next_scan_ns_) {
    next_scan_ns_ = now + scan_interval_ns;
    for (const Task& task : backlog_.take_stopped()) skip(task);
  }
  backlog_size_.store(backlog_.size(), std::memory_order_relaxed);  // relaxed: a statistic
}

bool CudaDevice::end_passed() {
  // Until a look finds nothing new: then with each node all that it came after has passed too.
  while (gpu_.look()) {
  }
  if (!gpu_.health.fatal.empty()) {
    lose(std::exchange(gpu_.health.fatal, {}));
    return true;
  }
  std::vector<Submitted> passed = in_flight_.take_passed(gpu_.streams());
  for (Submitted& entry : passed) end(entry);
  return !passed.empty();
}

void CudaDevice::park() {
  const bool waits = lease_->waits();
  const bool polls = !in_flight_.empty() || (kernels_.waits_for_quiet() && !gpu_.health.is_lost());
  const bool busy = polls || is_launching();
  const auto has_news = [this] {
    return !inbox_.empty() || !kernels_.calls().empty() ||
           kicked_.load(std::memory_order_seq_cst) ||  // seq_cst, both: tested before parking
           stopping_.load(std::memory_order_seq_cst) || has_ended_launch();
  };
  if (busy && poll_until([&] { return has_news() || gpu_.look() || !gpu_.health.fatal.empty(); }))
    return;
  const EventCount::Key key = kernels_.calls().sleeper().prepare();
  if (has_news()) return kernels_.calls().sleeper().cancel();
  machine_.budget().remove_running(1);
  const std::int64_t nap_ns = polls ? poll_interval_ns : broker::DeviceLease::ask_ns;
  kernels_.calls().sleeper().wait(key, polls || waits ? now_ns() + nap_ns : 0);
  machine_.budget().add_running(1);
}

/// Polls as long as something has happened lately and threads that burn a core, this one counted,
/// have one each: it has its own where lanes leave one (devices.py), and all others who only spin
/// make room. Whether the condition held.
template <typename Condition>
bool CudaDevice::poll_until(Condition&& condition) {
  if (!machine_.spins()) return false;
  const std::int64_t end_ns = last_progress_ns_ + spin_after_ns;
  while (now_ns() < end_ns && !machine_.is_crowded())
    for (int i = 0; i < 64; ++i) {
      if (condition()) return true;
      cpu_relax();
    }
  return false;
}

}  // namespace engine::cuda
