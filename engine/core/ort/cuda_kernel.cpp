#include "ort/cuda_kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "devices/cuda/captures.hpp"
#include "devices/cuda/graph.hpp"
#include "devices/cuda/lane_threads.hpp"

namespace engine::ort {

namespace {

using cuda::CudaValue;

const CudaValue& on_device(const ValuePtr& value) { return static_cast<const CudaValue&>(*value); }

using Infos = std::vector<std::optional<cuda::TensorInfo>>;

bool is_fixed(const std::optional<cuda::TensorInfo>& info) { return info.has_value(); }

/// Sessions of lost devices, for good: ending one calls CUDA, which fails, and some of ONNX
/// Runtime's destructors then end the process.
void keep_for_good(std::unique_ptr<CudaSession> session) {
  static auto* const kept = new std::vector<std::unique_ptr<CudaSession>>;
  static auto* const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  if (session != nullptr) kept->push_back(std::move(session));
}

std::shared_ptr<const CudaValue> make_value(cuda::Launch& launch, const cuda::TensorInfo& info) {
  return std::make_shared<CudaValue>(launch.allocate(info.bytes), info);
}

/// The input whose memory holds the address, or null.
ValuePtr aliased(const void* address, std::span<const ValuePtr> inputs) {
  const auto* byte = static_cast<const std::byte*>(address);
  const auto found = std::ranges::find_if(inputs, [byte](const ValuePtr& input) {
    if (!input) return false;
    const auto* begin = static_cast<const std::byte*>(on_device(input).data());
    return byte >= begin && byte < begin + input->bytes();
  });
  return found == inputs.end() ? nullptr : *found;
}

/// A segment's graph on one lane, with the session that holds it.
class SessionReplay final : public cuda::Replay {
 public:
  SessionReplay(const CudaSegment& segment, const cuda::Launch& launch, const Infos& inputs,
                const Infos& outputs)
      : launch_(launch),
        workspace_(count_workspace(launch_.memory(), launch_.lane())),
        inputs_(make(inputs)),
        outputs_(make(outputs)) {
    session_ = std::make_unique<CudaSession>(segment, launch_, CudaSession::Mode::capture);
    for (std::size_t i = 0; i < inputs_.size(); ++i) session_->bind_input(i, *inputs_[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) session_->bind_output(i, *outputs_[i]);
    try {
      session_->run(launch_);  // warms up, captures and replays
    } catch (const cuda::Error&) {
      abandon();
      throw;
    } catch (...) {
      // Before the session goes, which may not while its stream captures.
      cuda::end_capture(launch_.api(), launch_.stream());
      throw;
    }
  }

  [[nodiscard]] const Values& inputs() const noexcept override { return inputs_; }
  [[nodiscard]] const Values& outputs() const noexcept override { return outputs_; }
  void launch() override { session_->run(launch_); }
  void abandon() noexcept override { keep_for_good(std::move(session_)); }

 private:
  [[nodiscard]] Values make(const Infos& infos) {
    Values values;
    for (const auto& info : infos) {
      if (!info) throw std::runtime_error("its sizes are open");
      values.push_back(make_value(launch_, *info));
    }
    return values;
  }

  cuda::Launch launch_;  ///< with the graph's own memory
  const std::shared_ptr<const void> workspace_;
  Values inputs_, outputs_;
  std::unique_ptr<CudaSession> session_;
};

}  // namespace

CudaSessionKernel::~CudaSessionKernel() {
  for (std::uint32_t i = 0; i < by_lane_.size(); ++i)
    if (by_lane_[i].session != nullptr)
      threads_.call(first_lane_ + i, [&] { by_lane_[i].session.reset(); });
}

void CudaSessionKernel::open(const cuda::DeviceParts& device, std::uint32_t lane) const {
  device.threads.call(lane, [&] { open_here(device, lane); });
}

void CudaSessionKernel::open_here(const cuda::DeviceParts& device, std::uint32_t lane) const {
  auto workspace = count_workspace(device.memory, lane);
  cuda::Launch launch(device.api, device.streams, device.memory, device.pinned, lane);
  auto session = std::make_unique<CudaSession>(segment_, launch);
  if (lanes_ == 0) {
    inputs_ = session->input_infos();
    outputs_ = session->output_infos();
  }
  by_lane_[lane - first_lane_] = {.workspace = std::move(workspace), .session = std::move(session)};
  // What opening has freed again may go to the next session, on another stream.
  static_cast<void>(device.streams.record(lane));
  // Pinned memory may go to anybody.
  if (const auto kept = launch.take_kept(); !kept.empty()) device.streams.settle();
  lanes_ |= cuda::LaneSet{1} << lane;
}

void CudaSessionKernel::enqueue(cuda::Launch& launch, std::span<const ValuePtr> inputs,
                                std::span<ValuePtr> outputs) const {
  Lane& lane = by_lane_[launch.lane() - first_lane_];
  const bool declares = !lies_.load(std::memory_order_relaxed);  // relaxed: else the run finds out
  try {
    run(lane, launch, inputs, outputs, declares);
  } catch (const ShapeError&) {
    // The model declares wrong sizes: from now on each run says what they are.
    if (!declares || std::ranges::none_of(outputs_, is_fixed)) throw;
    lies_.store(true, std::memory_order_relaxed);  // relaxed: as above
    run(lane, launch, inputs, outputs, false);
  }
}

void CudaSessionKernel::run(Lane& lane, cuda::Launch& launch, std::span<const ValuePtr> inputs,
                            std::span<ValuePtr> outputs, bool declares) const {
  CudaSession& session = *lane.session;
  session.unbind();  // what a failed run has left
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) session.bind_input(i, on_device(inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!declares || !outputs_[i]) {
      session.bind_open_output(i);
      continue;
    }
    const auto made = make_value(launch, *outputs_[i]);
    session.bind_output(i, *made);
    outputs[i] = made;
  }
  ++lane.undrained;
  const bool drains =
      lane.undrained >= drains_at_last || (lane.undrained >= drains_after && launch.is_alone());
  session.run(launch, drains);
  if (drains) lane.undrained = 0;
  if (!declares || !std::ranges::all_of(outputs_, is_fixed))
    take_open(session, launch, inputs, outputs, declares);
  session.unbind();
}

/// Makes values of what the run has allocated.
void CudaSessionKernel::take_open(const CudaSession& session, cuda::Launch& launch,
                                  std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
                                  bool declares) const {
  const auto made = session.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (declares && outputs_[i]) continue;
    const std::shared_ptr<const OnnxValue>& tensor = made[i];
    const cuda::TensorInfo info{
        .bytes = tensor->bytes(), .elem_type = tensor->elem_type(), .shape = tensor->shape()};
    void* const data = info.bytes == 0 ? nullptr : tensor->data();
    const ValuePtr input = aliased(data, inputs);
    if (data != nullptr && (input != nullptr || segment_.allocator.holds(data))) {
      cuda::Memory memory(data, [tensor, input](void*) {});
      outputs[i] = std::make_shared<CudaValue>(std::move(memory), info);
      continue;
    }
    // Nothing, or memory that our pools know nothing of: other lanes could not be kept off it.
    cuda::Memory memory = launch.allocate(info.bytes);
    if (data != nullptr)
      launch.api().copy_async(memory.get(), data, info.bytes, cuda::device_to_device,
                              launch.stream());
    void* const copied = memory.get();
    outputs[i] = std::make_shared<CudaValue>(
        cuda::Memory(copied, [tensor, held = std::move(memory)](void*) {}), info);
  }
}

std::unique_ptr<cuda::Replay> CudaSessionKernel::capture(cuda::Launch& launch) const {
  // relaxed: nothing is launched meanwhile
  if (lies_.load(std::memory_order_relaxed)) throw std::runtime_error("it declares wrong sizes");
  return std::make_unique<SessionReplay>(segment_, launch, inputs_, outputs_);
}

void CudaSessionKernel::abandon() const noexcept {
  for (Lane& lane : by_lane_) keep_for_good(std::move(lane.session));
}

}  // namespace engine::ort
