#include "scheduler/machine.hpp"

#include <algorithm>
#include <stdexcept>

#include "devices/cpu/cpu_device.hpp"
#include "devices/kinds.hpp"
#include "scheduler/run.hpp"
#include "scheduler/waiting_room.hpp"

namespace engine {

namespace {

constexpr int max_lanes = 1024;
constexpr std::size_t max_devices = 64;
constexpr std::int64_t cancel_interval_ns = 10'000'000;

}  // namespace

std::shared_ptr<Machine> Machine::create(const MachineParams& params) {
  if (params.devices.empty()) throw std::invalid_argument("a machine needs at least one device");
  if (params.spin_ns < 0) throw std::invalid_argument("spin_ns must be >= 0");
  if (params.thread_budget < 0) throw std::invalid_argument("thread_budget must be >= 0");
  if (params.devices.size() > max_devices)
    throw std::invalid_argument("a machine has at most 64 devices");
  for (const DeviceParams& device : params.devices) {
    const DeviceKind& kind = kind_of(device);
    device.require(device.lanes >= 1 && device.lanes <= max_lanes,
                   "lanes must be 1 to 1024, got " + std::to_string(device.lanes));
    if (kind.check != nullptr) kind.check(device);
    if (kind.check_together != nullptr) kind.check_together(params.devices);
  }
  std::shared_ptr<Machine> machine(new Machine(params));
  for (const auto& executor : machine->executors_) executor->start();
  KernelWatch::get().start();
  return machine;
}

Machine::Machine(const MachineParams& params)
    : spin_ns_(params.spin_ns),
      budget_holder_(params.thread_budget > 0 ? std::make_shared<ThreadBudget>(params.thread_budget)
                                              : ThreadBudget::of_process()),
      budget_(*budget_holder_),
      broker_(params.broker != nullptr ? *params.broker : broker::Broker::of_process()) {
  for (std::uint32_t i = 0; i < params.devices.size(); ++i) add_device(params, i);
  device_count_ = static_cast<int>(executors_.size());
  admission_ = std::make_unique<Admission>(executors_, broker_);
  meters_.push_back(std::make_unique<MemoryMeter>());
}

Machine::~Machine() { close(); }

void Machine::add_device(const MachineParams& machine, std::uint32_t place) {
  recorder_.add_executor();
  const Opening opening{machine.devices, place, executors_, *this};
  std::unique_ptr<Device> device = kind_of(opening.params()).open(opening);
  meters_.push_back(std::make_unique<MemoryMeter>(device->metered_bytes()));
  if (device->is_timed()) timed_.push_back(device.get());
  if (helper_device_ == nullptr) helper_device_ = device->helper();
  executors_.push_back(std::move(device));
}

RunPtr Machine::submit(const Plan& plan, std::span<const ValuePtr> inputs, RunOptions options) {
  RunPtr run = start(plan, inputs, std::move(options));
  if (is_admitted(*run) && goes_on(*run, plan)) push_roots(*run, plan, nullptr);
  return run;
}

RunPtr Machine::run(const Plan& plan, std::span<const ValuePtr> inputs, RunOptions options,
                    std::int64_t wait_until_ns) {
  RunPtr run = start(plan, inputs, std::move(options));
  if (!is_admitted(*run)) return run;
  // A limited wait must not begin a kernel that may last longer.
  if (goes_on(*run, plan)) {
    if (wait_until_ns == 0)
      run_or_push(*run, plan);
    else
      push_roots(*run, plan, nullptr);
  }
  run->wait(wait_until_ns, true);
  return run;
}

RunPtr Machine::submit_here(const Plan& plan, std::span<const ValuePtr> inputs,
                            RunOptions options) {
  RunPtr run = start(plan, inputs, std::move(options));
  if (is_admitted(*run) && goes_on(*run, plan)) run_or_push(*run, plan);
  return run;
}

void Machine::run_or_push(Run& run, const Plan& plan) {
  const auto push_others = [&] { push_roots(run, plan, helper_device_); };
  if (!may_help(run) || !helper_device_->run_here(run, push_others)) push_roots(run, plan, nullptr);
}

RunPtr Machine::start(const Plan& plan, std::span<const ValuePtr> inputs, RunOptions options) {
  if (inputs.size() != plan.graph_inputs().size())
    throw std::invalid_argument("the plan has " + std::to_string(plan.graph_inputs().size()) +
                                " inputs, got " + std::to_string(inputs.size()));
  if (plan.hands_on_inputs()) return start_owned(plan, plan.own_inputs(inputs), std::move(options));
  return start_owned(plan, inputs, std::move(options));
}

RunPtr Machine::start_owned(const Plan& plan, std::span<const ValuePtr> inputs,
                            RunOptions options) {
  // seq_cst, both: close() either sees the run in flight or we see it closing
  in_flight_.fetch_add(1, std::memory_order_seq_cst);
  if (closing_.load(std::memory_order_seq_cst)) {
    run_ended();
    throw std::runtime_error("the machine is closed");
  }
  try {
    Run* run = plan.take_run();
    // relaxed: only the order of the numbers matters
    run->begin(inputs, std::move(options), next_arrival_.fetch_add(1, std::memory_order_relaxed));
    return RunPtr(run);
  } catch (...) {
    run_ended();
    throw;
  }
}

/// False: the run has ended.
bool Machine::is_admitted(Run& run) {
  if (!admission_->counts_runs()) return true;
  const Admission::Verdict verdict = admission_->admit(run, now_ns());
  if (verdict.refuses()) run.refuse(verdict);
  return !verdict.refuses();
}

bool Machine::goes_on(Run& run, const Plan& plan) {
  WaitingRoom* const room = plan.room();
  return room == nullptr || room->enter(run);
}

void Machine::hand_over(std::span<Run* const> call) noexcept {
  Run& first = *call.front();
  const std::shared_ptr<const Plan> plan = first.plan().shared_from_this();  // they may end at once
  first.lead(call.subspan(1));
  push_roots(first, *plan, nullptr);
}

void Machine::push_roots(Run& run, const Plan& plan, const Device* except) {
  if (plan.node_count() == 0) return run.finish();
  // A traced run's first nodes are ready when it was submitted.
  const std::int64_t ready_ns = timed_.empty() ? 0 : run.traced() ? run.submitted_ns() : now_ns();
  for (const std::uint32_t index : plan.roots()) {
    const PlanNode& node = plan.node(index);
    Device& device = executor(node.executor);
    if (&device != except && !device.is_timed()) device.push({&run, index, ready_ns});
  }
  for (Device* device : timed_) {
    std::vector<Task> tasks;
    for (const std::uint32_t index : plan.roots())
      if (&executor(plan.node(index).executor) == device) tasks.push_back({&run, index, ready_ns});
    // From the last one on the run may be gone.
    if (!tasks.empty()) device->push_all(tasks);
  }
}

void Machine::drain() noexcept {
  while (in_flight_.load(std::memory_order_seq_cst) != 0) {  // seq_cst: tested before parking
    const EventCount::Key key = drained_.prepare();
    if (in_flight_.load(std::memory_order_seq_cst) == 0)  // seq_cst: tested before parking
      drained_.cancel();
    else
      drained_.wait(key, 0);
  }
}

bool Machine::close(std::int64_t limit_ns) noexcept {
  const std::lock_guard lock(close_mutex_);
  if (closed_) return true;
  const std::int64_t until_ns = limit_ns == 0 ? INT64_MAX : now_ns() + limit_ns;
  closing_.store(true, std::memory_order_seq_cst);  // seq_cst: see start()
  // Repeated: a run that was being prepared may have missed a cancel.
  while (in_flight_.load(std::memory_order_seq_cst) != 0) {  // seq_cst: tested before parking
    if (now_ns() >= until_ns) return false;
    {
      const std::lock_guard plans_lock(plans_mutex_);
      for (const auto& weak : plans_)
        if (const auto plan = weak.lock()) plan->cancel_runs();
    }
    const EventCount::Key key = drained_.prepare();
    if (in_flight_.load(std::memory_order_seq_cst) == 0)  // seq_cst: tested before parking
      drained_.cancel();
    else
      drained_.wait(key, now_ns() + cancel_interval_ns);
  }
  for (const auto& executor : executors_) executor->stop();
  return closed_ = true;
}

Machine::Stats Machine::stats() const {
  Stats stats;
  for (int i = 0; i < device_count_; ++i)
    stats.devices.push_back(executors_[static_cast<std::size_t>(i)]->stats());
  for (std::size_t i = 0; i < stats.devices.size() && !held_lanes_.is_empty(); ++i)
    stats.devices[i].held = held_lanes_.lanes(static_cast<std::uint32_t>(i));
  for (const auto& meter : meters_) {
    stats.live_values += meter->values();
    stats.live_bytes += meter->bytes();
  }
  stats.runs_in_flight = runs_in_flight();
  stats.admission = admission_->counts();
  return stats;
}

bool Machine::has_lost(std::uint64_t devices) const {
  if (closing()) return true;
  for (std::size_t i = 0; i < executors_.size(); ++i)
    if ((devices >> i & 1U) != 0 && !executors_[i]->failure().empty()) return true;
  return false;
}

bool Machine::is_stalled() const {
  if (held_lanes_.is_empty()) return false;
  for (std::uint32_t i = 0; i < executors_.size(); ++i)
    if (held_lanes_.lanes(i) >= executors_[i]->lanes()) return true;
  return false;
}

Machine::CopyRoute Machine::copy_route(int source_device, int target_device) const {
  const auto source = static_cast<std::uint32_t>(source_device);
  const auto target = static_cast<std::uint32_t>(target_device);
  const bool from = executors_[source]->is_timed(), to = executors_[target]->is_timed();
  // Within one memory a lane passes the value on.
  if (source == target || !(from || to)) return {.executor = target};
  if (from && to && executors_[source]->shares_memory_with(*executors_[target]))
    return {.executor = target, .link = link_towards, .is_linked = true};  // it passes the value on
  if (!from) return {.executor = target, .link = link_towards, .is_linked = true};
  if (!to) return {.executor = source, .link = link_back, .is_linked = true};
  return {.executor = target,
          .link = static_cast<std::uint8_t>(first_peer_link + source),
          .is_linked = true};
}

void Machine::adopt(const std::shared_ptr<const Plan>& plan) {
  // relaxed: see forecasts_lanes()
  if (plan->has_wide_nodes()) wide_plans_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(plans_mutex_);
  std::erase_if(plans_, [](const auto& weak) { return weak.expired(); });
  plans_.push_back(plan);
}

std::vector<std::shared_ptr<const Plan>> Machine::plans() const {
  std::vector<std::shared_ptr<const Plan>> found;
  const std::lock_guard lock(plans_mutex_);
  for (const auto& weak : plans_)
    if (auto plan = weak.lock()) found.push_back(std::move(plan));
  return found;
}

std::string Machine::memory_name(std::uint32_t meter) const {
  return "emulated device '" + executors_[meter]->name() + "'";
}

bool Machine::may_help(const Run& run) const noexcept {
  return helper_device_ != nullptr && !run.order().is_best_effort();
}

bool Machine::help(Run& run, std::int64_t until_ns) {
  if (!may_help(run)) return false;
  helper_device_->help(run, until_ns);
  return until_ns == 0 || run.done();
}

void Machine::kick_timed() noexcept {
  for (Device* device : timed_) device->kick();
}

void Machine::run_ended() noexcept {
  // seq_cst: before we look for close()
  if (in_flight_.fetch_sub(1, std::memory_order_seq_cst) == 1) drained_.notify_all();
}

}  // namespace engine
