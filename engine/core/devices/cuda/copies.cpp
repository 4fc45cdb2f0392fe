// How a CUDA device copies: through pinned memory, on a stream for each direction.
#include <algorithm>
#include <cstring>
#include <new>

#include "devices/cuda/cuda_device.hpp"

namespace engine::cuda {

bool CudaDevice::submit_copy(Backlog::Queue queue) {
  std::optional<Held>& held = held_[queue];
  if (!held) {
    if (backlog_.empty(queue)) return false;
    const Task task = backlog_.first(queue);
    if (task.run->should_skip()) {
      skip(backlog_.pop(queue));
      return true;
    }
    if (!has_room(queue == Backlog::copies_in ? gpu_.in_stream : gpu_.out_stream)) return false;
    held.emplace(Held{.task = backlog_.pop(queue), .values = {}});
    task.run->take_inputs(task.run->plan().node(task.node), held->values);
    held->values.outputs.resize(1);
  }
  const bool is_done = queue == Backlog::copies_in ? copy_in(*held) : copy_out(*held);
  if (is_done) held.reset();
  return is_done;
}

/// False: there is not enough pinned memory now, but a copy in flight will give some back.
bool CudaDevice::copy_in(Held& held) {
  copy_starves_ = false;
  const Task task = held.task;
  const PlanNode& node = task.run->plan().node(task.node);
  Submitted copy{.task = task, .start_ns = now_ns()};
  const ValuePtr source = held.values.inputs[0];
  try {
    const auto* value = dynamic_cast<const CudaValue*>(source.get());
    if (value != nullptr && node.link >= first_peer_link) {
      const std::uint32_t from = std::uint32_t{node.link} - first_peer_link;
      held.values.outputs[0] = fetch(machine_.executor(from), *value);
      copy.kept = source;
    } else if (value != nullptr) {
      gpu_.streams().wait(gpu_.in_stream, value->written());  // passed on within the device
      held.values.outputs[0] = source;
    } else if (source) {
      const Backend::HostTensor host = gpu_.params.backend->read(*source);
      const void* staged = host.data;
      if (gpu_.pinned().holds(host.data)) {
        copy.kept = source;
      } else {
        const bool must = !copies_in_flight();
        copy.pinned = gpu_.pinned().allocate(host.info.bytes, must, Backlog::copies_in);
        if (copy.pinned == nullptr) return false;
        if (host.info.bytes > 0) std::memcpy(copy.pinned.get(), host.data, host.info.bytes);
        staged = copy.pinned.get();
      }
      held.values.outputs[0] = send(host.info, staged);
    }
  } catch (const std::exception& error) {
    const auto* cuda_error = dynamic_cast<const Error*>(&error);
    const bool lacks_memory = cuda_error != nullptr && cuda_error->code() == out_of_memory;
    copy_starves_ = lacks_memory && is_launching();  // which gives some back
    if (copy_starves_) return false;
    fail(task, failure_of(error));
  }
  if (!record(copy, gpu_.in_stream)) return give_up(held);
  if (const auto* made = dynamic_cast<const CudaValue*>(held.values.outputs[0].get()))
    if (held.values.outputs[0] != source) made->set_written(copy.stamp);
  if (task.run->stopped()) held.values.outputs.clear();
  task.run->publish(task.node, node, held.values);
  in_flight_.add(std::move(copy));
  pass_on(task, node);
  return true;
}

ValuePtr CudaDevice::send(const TensorInfo& info, const void* source) {
  Memory memory = gpu_.memory().allocate(gpu_.in_stream, info.bytes);
  if (info.bytes > 0)
    gpu_.api()->copy_async(memory.get(), source, info.bytes, host_to_device,
                           gpu_.streams().handle(gpu_.in_stream));
  return std::make_shared<CudaValue>(std::move(memory), info);
}

/// From another GPU, where the value is written. What only that one has lost fails this run alone.
ValuePtr CudaDevice::fetch(const Device& from, const CudaValue& source) {
  if (const std::string why = from.failure(); !why.empty()) throw std::runtime_error(why);
  const StreamHandle stream = gpu_.streams().handle(gpu_.in_stream);
  const TensorInfo& info = source.info();
  Memory memory = gpu_.memory().allocate(gpu_.in_stream, info.bytes);
  if (info.bytes > 0) {
    const int code = gpu_.api()->copy_peer_async.code(
        memory.get(), ordinal(), source.data(), gpu_behind(from)->ordinal(), info.bytes, stream);
    if (code != 0) {
      const Error error = gpu_.api()->library().error(code, "cudaMemcpyPeerAsync");
      if (severity_of(gpu_.api()->stream_query.code(stream)) == Severity::fatal) throw error;
      throw std::runtime_error(error.what());
    }
  }
  return std::make_shared<CudaValue>(std::move(memory), info);
}

/// A copy that the device did not live to submit.
bool CudaDevice::give_up(Held& held) {
  Held mine = std::move(held);
  held_[backlog_.queue_of(mine.task.run->plan().node(mine.task.node))].reset();
  abandon(mine.task, mine.values);
  return true;
}

bool CudaDevice::copy_out(Held& held) {
  const Task task = held.task;
  Submitted copy{.task = task, .start_ns = now_ns()};
  const ValuePtr source = held.values.inputs[0];
  try {
    const auto* value = dynamic_cast<const CudaValue*>(source.get());
    if (source && value == nullptr)
      throw std::runtime_error("a value to copy is not in the GPU's memory");
    if (value != nullptr) {
      const bool must = !copies_in_flight();
      copy.pinned = gpu_.pinned().allocate(value->bytes(), must, Backlog::copies_out);
      if (copy.pinned == nullptr) return false;
      gpu_.streams().wait(gpu_.out_stream, value->written());
      if (value->bytes() > 0)
        gpu_.api()->copy_async(copy.pinned.get(), value->data(), value->bytes(), device_to_host,
                               gpu_.streams().handle(gpu_.out_stream));
    }
  } catch (const std::exception& error) {
    fail(task, failure_of(error));
  }
  if (!record(copy, gpu_.out_stream)) return give_up(held);
  if (const auto* value = dynamic_cast<const CudaValue*>(source.get()))
    gpu_.memory().note_use(value->data(), copy.stamp);
  copy.values = std::move(held.values);
  in_flight_.add(std::move(copy));
  return true;
}

/// The content of a copy to the host is there: makes the value and publishes it.
void CudaDevice::receive(Submitted& entry) {
  Run& run = *entry.task.run;
  const PlanNode& node = run.plan().node(entry.task.node);
  const auto* source = dynamic_cast<const CudaValue*>(entry.values.inputs[0].get());
  try {
    if (source != nullptr && entry.pinned != nullptr && !run.stopped()) {
      const std::size_t bytes = source->bytes();
      Memory memory;
      if (!gpu_.params.resets_when_lost && gpu_.pinned().may_lend(bytes)) {
        memory = gpu_.pinned().lend(std::move(entry.pinned), bytes);
      } else {
        memory = Memory(::operator new(std::max<std::size_t>(bytes, 1)),
                        [](void* block) { ::operator delete(block); });
        std::memcpy(memory.get(), entry.pinned.get(), bytes);
      }
      entry.values.outputs[0] = gpu_.params.backend->make_host(std::move(memory), source->info());
    }
  } catch (const std::exception& error) {
    run.fail(entry.task.node, error.what());
  }
  if (run.stopped()) entry.values.outputs.clear();
  run.publish(entry.task.node, node, entry.values);
}

}  // namespace engine::cuda
