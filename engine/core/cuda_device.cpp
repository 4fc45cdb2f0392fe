#include "cuda_device.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstring>

#include "cuda_graph.hpp"

namespace engine::cuda {

namespace {

constexpr int max_lanes = static_cast<int>(max_streams) - 2;
constexpr std::int64_t poll_interval_ns = 20'000;     ///< when nothing has happened for a while
constexpr std::int64_t spin_after_ns = 200'000;       ///< how long polling goes without a pause
constexpr std::int64_t scan_interval_ns = 1'000'000;  ///< for deadlines that have passed

void require(bool holds, const DeviceParams& params, const std::string& what) {
  if (!holds) throw std::invalid_argument("device '" + params.name + "': " + what);
}

}  // namespace

void CudaKernel::execute(std::span<const ValuePtr>, std::span<ValuePtr>, CancelToken*) const {
  throw std::logic_error("a GPU's kernel cannot be executed by the host");
}

void check(const DeviceParams& params) {
  require(params.lanes <= max_lanes, params,
          "lanes of a CUDA device must be 1 to " + std::to_string(max_lanes) + ", got " +
              std::to_string(params.lanes));
  require(params.cuda.ordinal >= 0, params, "ordinal must be >= 0");
  require(params.cuda.queue_depth >= 1, params, "queue_depth must be >= 1");
  require(params.cuda.backend != nullptr, params, "a CUDA device needs a backend");
}

void check_alone(const std::vector<DeviceParams>& devices) {
  const DeviceParams* gpu = nullptr;
  for (const DeviceParams& device : devices) {
    if (device.kind != "cuda") continue;
    if (gpu != nullptr) require(false, device, "a machine has one CUDA device at most");
    gpu = &device;
  }
  for (const DeviceParams& device : devices)
    require(gpu == nullptr || device.kind != "emulated", device,
            "an emulated device cannot exchange values with a CUDA device");
}

CudaDevice::CudaDevice(const DeviceParams& params, std::uint32_t executor, Machine& machine)
    : Device(params.name, params.lanes),
      params_(params),
      executor_(executor),
      in_stream_(static_cast<std::uint32_t>(params.lanes)),
      out_stream_(in_stream_ + 1),
      machine_(machine),
      in_flight_(out_stream_ + 1),
      busy_until_ns_(out_stream_ + 1, 0) {}

void CudaDevice::start() {
  std::promise<void> opened;
  thread_ = std::thread([this, &opened] { work(opened); });
  opened.get_future().get();
}

void CudaDevice::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  calls_->sleeper().notify_all();
  if (thread_.joinable()) thread_.join();
}

void CudaDevice::push(const Task& task) { push_all({&task, 1}); }

void CudaDevice::push_all(std::span<const Task> tasks) {
  inbox_.push_all(tasks);
  calls_->sleeper().notify(1);
}

void CudaDevice::kick() noexcept {
  kicked_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  calls_->sleeper().notify(1);
}

DeviceStats CudaDevice::stats() const {
  const DevicePool::Stats memory = memory_->stats();
  // relaxed, all: statistics
  return {.executed = executed_.load(std::memory_order_relaxed),
          .queued = inbox_.size() + backlog_size_.load(std::memory_order_relaxed),
          .replayed = replayed_.load(std::memory_order_relaxed),
          .memory_bytes = memory.device_bytes,
          .used_bytes = memory.used_bytes};
}

std::string CudaDevice::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

std::shared_ptr<const Kernel> CudaDevice::prepare(std::shared_ptr<const Kernel> kernel) {
  if (auto made = std::dynamic_pointer_cast<const CudaKernel>(kernel))
    return make([&] { return made; });
  return make([&] { return params_.cuda.backend->adapt(std::move(kernel), parts()); });
}

std::shared_ptr<const Kernel> CudaDevice::capture(std::shared_ptr<const Kernel> prepared) {
  const auto* slot = dynamic_cast<const KernelSlot*>(prepared.get());
  if (slot == nullptr) return prepared;  // nothing to execute
  return make([&]() -> std::shared_ptr<const CudaKernel> {
    settle();
    try {
      auto captured = std::make_shared<const CapturedKernel>(slot->kernel(), parts());
      mark_lanes();
      return captured;
    } catch (const Error& error) {
      if (error.is_fatal()) fatal_ = error.what();
      mark_lanes();
      throw;
    } catch (...) {
      mark_lanes();
      throw;
    }
  });
}

/// Makes a kernel on the submitting thread, which also destroys it.
std::shared_ptr<const Kernel> CudaDevice::make(
    const std::function<std::shared_ptr<const CudaKernel>()>& maker) {
  std::promise<std::shared_ptr<KernelSlot>> made;
  const auto call = [&] {
    try {
      if (!lost_.empty()) throw std::runtime_error(lost_);
      auto slot = std::make_shared<KernelSlot>(maker());
      kernels_.insert(slot);
      made.set_value(std::move(slot));
    } catch (...) {
      made.set_exception(std::current_exception());
    }
  };
  if (!calls_->push(call)) throw std::runtime_error("device '" + name() + "' is closed");
  std::shared_ptr<KernelSlot> slot = made.get_future().get();
  const Kernel* const handle = slot.get();
  return {handle, [this, calls = calls_, held = std::move(slot)](const Kernel*) mutable {
            // Refused once the device is closed: then close() has destroyed the kernel.
            calls->push([this, last = std::move(held)] { drop(last); });
          }};
}

void CudaDevice::drop(const std::shared_ptr<KernelSlot>& slot) {
  slot->clear();
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

DeviceParts CudaDevice::parts() { return {api_, *streams_, *memory_, *pinned_, in_stream_}; }

void CudaDevice::work(std::promise<void>& opened) {
  prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would delay every poll
  try {
    open();
  } catch (const Error& error) {
    const std::string advice =
        error.is_fatal() ? "; if CUDA lost the GPU before, the process must be restarted" : "";
    opened.set_exception(std::make_exception_ptr(
        std::runtime_error("device '" + name() + "': " + error.what() + advice)));
    return calls_->close();
  } catch (...) {
    opened.set_exception(std::current_exception());
    return calls_->close();
  }
  opened.set_value();
  while (!stopping_.load(std::memory_order_seq_cst)) {  // seq_cst: tested before parking
    if (!step()) park();
  }
  close();
}

void CudaDevice::open() {
  api_ = std::make_shared<const Api>(params_.cuda.library);
  int devices = 0;
  api_->device_count(&devices);
  require(params_.cuda.ordinal < devices, params_,
          "GPU " + std::to_string(params_.cuda.ordinal) + " does not exist, there are " +
              std::to_string(devices));
  api_->set_device(params_.cuda.ordinal);
  streams_ = std::make_unique<Streams>(api_, out_stream_ + 1);
  memory_ =
      std::make_shared<DevicePool>(api_, *streams_,
                                   DevicePool::Params{.pools = in_stream_ + 1,
                                                      .limit_bytes = params_.memory_bytes,
                                                      .reserve_bytes = params_.cuda.reserve_bytes});
  pinned_ = std::make_shared<PinnedPool>(api_, params_.cuda.staging_bytes);
}

/// Sessions first, then memory, then streams. Values that callers still hold keep their chunks.
void CudaDevice::close() {
  calls_->close();
  settle();
  for (const auto& slot : kernels_) slot->clear();
  kernels_.clear();
  const bool resets = params_.cuda.resets_when_lost && !lost_.empty();
  if (resets) {
    memory_->forget();
    pinned_->forget();
  } else {
    memory_->close();
    pinned_->close();
  }
  streams_.reset();
  if (resets) api_->device_reset.code();
}

/// One round; false if nothing happened.
bool CudaDevice::step() {
  const bool called = calls_->run_all();
  drain();
  if (!lost_.empty()) {
    for (std::size_t queue = 0; queue < Backlog::queues; ++queue)
      while (!backlog_.empty(static_cast<Backlog::Queue>(queue))) {
        const Task task = backlog_.pop(static_cast<Backlog::Queue>(queue));
        task.run->fail(task.node, lost_);
        skip(task);
      }
    return called;
  }
  bool moved = called;
  try {
    moved |= end_passed();
    moved |= submit_next();
    if (returns_memory_ && runs_in_flight_.empty() && streams_->is_idle()) {
      memory_->give_back_idle();
      returns_memory_ = false;
    }
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

/// Polls all streams once; whether one has come further. A failure is kept in fatal_.
bool CudaDevice::look() noexcept {
  try {
    return streams_->poll();
  } catch (const std::exception& error) {
    fatal_ = error.what();
    return false;
  }
}

bool CudaDevice::end_passed() {
  // Until a look finds nothing new: then with each node all that it came after has passed too.
  while (look()) {
  }
  if (!fatal_.empty()) {
    lose(std::exchange(fatal_, {}));
    return true;
  }
  std::vector<Submitted> passed;
  for (std::uint32_t stream = 0; stream < in_flight_.size(); ++stream) {
    auto& queue = in_flight_[stream];
    for (; !queue.empty() && queue.front().stamp.position <= streams_->passed(stream);
         queue.pop_front())
      passed.push_back(std::move(queue.front()));
  }
  std::ranges::sort(passed, {}, &Submitted::number);
  for (Submitted& entry : passed) end(entry);
  return !passed.empty();
}

void CudaDevice::park() {
  const bool busy = !runs_in_flight_.empty() || (returns_memory_ && lost_.empty());
  const auto has_news = [this] {
    return !inbox_.empty() || !calls_->empty() ||
           kicked_.load(std::memory_order_seq_cst) ||  // seq_cst, both: tested before parking
           stopping_.load(std::memory_order_seq_cst);
  };
  if (busy && now_ns() < last_progress_ns_ + spin_after_ns &&
      machine_.spin_until([&] { return has_news() || look() || !fatal_.empty(); }))
    return;
  const EventCount::Key key = calls_->sleeper().prepare();
  if (has_news())
    calls_->sleeper().cancel();
  else
    calls_->sleeper().wait(key, busy ? now_ns() + poll_interval_ns : 0);
}

}  // namespace engine::cuda
