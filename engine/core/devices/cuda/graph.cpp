#include "devices/cuda/graph.hpp"

#include <stdexcept>
#include <utility>

#include "devices/cuda/captures.hpp"

namespace engine::cuda {

namespace {

void copy(Launch& launch, void* target, const void* source, std::size_t bytes) {
  if (bytes > 0 && target != source)
    launch.api().copy_async(target, source, bytes, device_to_device, launch.stream());
}

/// The graph of one kernel, on memory of its own.
class KernelReplay final : public Replay {
 public:
  KernelReplay(const CudaKernel& kernel, Launch& launch, std::span<const TensorInfo> inputs,
               std::size_t outputs)
      : made_(outputs) {
    for (const TensorInfo& info : inputs)
      inputs_.push_back(std::make_shared<CudaValue>(launch.allocate(info.bytes), info));
    run(kernel, launch);  // warm-up: what is made at a first run must not be made in the capture
    graph_ = std::make_unique<Graph>(launch.api_pointer(), launch.stream(),
                                     [&] { run(kernel, launch); });
  }

  [[nodiscard]] const Values& inputs() const noexcept override { return inputs_; }
  [[nodiscard]] const Values& outputs() const noexcept override { return outputs_; }
  void launch() override { graph_->launch(); }

 private:
  void run(const CudaKernel& kernel, Launch& launch) {
    const std::vector<ValuePtr> given(inputs_.begin(), inputs_.end());
    outputs_.clear();
    std::vector<ValuePtr> made(made_);
    kernel.enqueue(launch, given, made);
    for (const ValuePtr& value : made)
      outputs_.push_back(std::static_pointer_cast<const CudaValue>(value));
  }

  const std::size_t made_;
  Values inputs_, outputs_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace

Graph::Graph(ApiPtr api, StreamHandle stream, const std::function<void()>& submit)
    : api_(std::move(api)), stream_(stream) {
  api_->stream_begin_capture(stream_, capture_thread_local);
  GraphHandle graph = nullptr;
  try {
    submit();
    api_->stream_end_capture(stream_, &graph);
  } catch (...) {
    end_capture(*api_, stream_);
    throw;
  }
  const int code = api_->graph_instantiate.code(&executable_, graph, 0);
  api_->graph_destroy.code(graph);
  if (code != 0) throw api_->library().error(code, "cudaGraphInstantiate");
}

Graph::~Graph() { api_->executable_destroy.code(executable_); }

std::unique_ptr<Replay> capture_enqueue(const CudaKernel& kernel, Launch& launch,
                                        std::span<const TensorInfo> inputs, std::size_t outputs) {
  return std::make_unique<KernelReplay>(kernel, launch, inputs, outputs);
}

std::unique_ptr<Replay> CudaKernel::capture(Launch&) const {
  throw std::runtime_error("its kind of kernel has no graphs");
}

void CapturedKernel::open(const DeviceParts& device, std::uint32_t lane) const {
  if (!has(kernel_->lanes(), lane)) kernel_->open(device, lane);
  Launch launch(device.api, device.streams, device.memory, device.pinned, lane);
  launch.use(std::make_shared<PrivatePool>(device.memory, device.streams, lane));
  device.streams.settle();  // what opening has submitted: a capture begins on an idle GPU
  replays_[lane - first_lane_] = kernel_->capture(launch);
  // Behind the warm-up, for the next one.
  static_cast<void>(device.streams.record(lane));
  device.streams.settle();
  lanes_ |= LaneSet{1} << lane;
}

void CapturedKernel::abandon() const noexcept {
  for (const auto& replay : replays_)
    if (replay != nullptr) replay->abandon();
  kernel_->abandon();
}

bool CapturedKernel::replays(std::uint32_t lane, std::span<const ValuePtr> inputs) const {
  const Replay& replay = *replays_[lane - first_lane_];
  // relaxed: written by the thread that replays; others find that inputs do not fit, or it so
  bool fits =
      !is_broken_.load(std::memory_order_relaxed) && inputs.size() == replay.inputs().size();
  for (std::size_t i = 0; fits && i < inputs.size(); ++i)
    fits =
        inputs[i] && static_cast<const CudaValue&>(*inputs[i]).info() == replay.inputs()[i]->info();
  return fits;
}

void CapturedKernel::enqueue(Launch& launch, std::span<const ValuePtr> inputs,
                             std::span<ValuePtr> outputs) const {
  if (!replays(launch.lane(), inputs)) return kernel_->enqueue(launch, inputs, outputs);
  Replay& replay = *replays_[launch.lane() - first_lane_];
  for (std::size_t i = 0; i < inputs.size(); ++i)
    copy(launch, replay.inputs()[i]->data(), static_cast<const CudaValue&>(*inputs[i]).data(),
         inputs[i]->bytes());
  try {
    replay.launch();
  } catch (...) {
    is_broken_.store(true, std::memory_order_relaxed);  // relaxed: see replays()
    throw;
  }
  launch.note_replay();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const CudaValue& made = *replay.outputs()[i];
    Memory memory = launch.allocate(made.bytes());
    copy(launch, memory.get(), made.data(), made.bytes());
    outputs[i] = std::make_shared<CudaValue>(std::move(memory), made.info());
  }
}

}  // namespace engine::cuda
