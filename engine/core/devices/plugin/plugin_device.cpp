#include "devices/plugin/plugin_device.hpp"

#include <stdexcept>

#include "devices/kinds.hpp"
#include "scheduler/clock.hpp"

namespace engine {

PluginDevice::PluginDevice(const DeviceParams& params, std::uint32_t executor, Machine& machine)
    : Device(params.name, params.lanes),
      params_(params.get<PluginParams>()),
      executor_(executor),
      machine_(machine),
      queue_(executor) {
  if (params_.thread == nullptr)
    throw std::invalid_argument("device '" + name() + "': its provider is not open");
  if (lanes() != 1)
    throw std::invalid_argument("device '" + name() + "': a plugin provider has one lane, got " +
                                std::to_string(lanes()));
}

/// No run is in flight, but the last jobs, even their pushes, may not have returned.
void PluginDevice::stop() noexcept {
  try {
    // acquire: what the jobs did to this device happened before it goes
    while (jobs_.load(std::memory_order_acquire) != 0) params_.thread->call([] {});
  } catch (const std::exception&) {
    return;  // the thread was stopped: its jobs have ended
  }
}

void PluginDevice::push(const Task& task) {
  const std::uint32_t position = task.run->plan().node(task.node).position;
  jobs_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the run cannot end before the push
  queue_.push(*task.run, {&position, 1});
  // One job for each node; which one it executes is decided when its turn comes.
  SubmittingThread::Job job = [this] {
    execute_next();
    jobs_.fetch_sub(1, std::memory_order_release);  // release: see stop()
  };
  static_cast<void>(params_.thread->post(job));
}

DeviceStats PluginDevice::stats() const {
  // relaxed: a statistic
  return {.executed = executed_.load(std::memory_order_relaxed), .queued = queue_.size_approx()};
}

void PluginDevice::execute_next() {
  Task task;
  if (!queue_.pop(task)) return;
  const PlanNode& node = task.run->plan().node(task.node);
  made_ready_.complete(*task.run, node, execute(task, node));
  made_ready_.hand_on(machine_);
}

/// Returns when the node ended.
std::int64_t PluginDevice::execute(const Task& task, const PlanNode& node) {
  Run& run = *task.run;
  const bool skip = run.should_skip();
  const std::int64_t start_ns = run.is_timed() ? now_ns() : 0;
  run.take_inputs(node, values_);
  if (!skip) {
    run.compute(task.node, node, values_);
    executed_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  }
  run.publish(task.node, node, values_);
  const std::int64_t end_ns = now_ns();
  if (run.is_timed()) run.trace(task.node, skip ? -1 : 0, start_ns, end_ns);
  return end_ns;
}

DeviceKind plugin_kind() {
  return {.name = "plugin", .open = [](const Opening& opening) -> std::unique_ptr<Device> {
            return std::make_unique<PluginDevice>(opening.params(), opening.place, opening.machine);
          }};
}

}  // namespace engine
