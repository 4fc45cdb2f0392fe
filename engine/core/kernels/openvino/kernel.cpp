#include "kernels/openvino/kernel.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "kernels/numbers.hpp"
#include "kernels/openvino/copies.hpp"
#include "kernels/openvino/mark.hpp"
#include "kernels/openvino/sizes_seen.hpp"
#include "ort/output_pool.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine::kernels::openvino {
namespace {

void* address_of(const ort::OnnxValue& tensor) {
  alignas(64) static std::byte nothing[64];
  void* const data = tensor.data();
  return data != nullptr ? data : nothing;
}

/// What is known of the outputs before a run.
struct Outputs {
  struct Sized {
    std::size_t index;  ///< among all outputs
    std::vector<std::int64_t> shape;
  };
  std::vector<int> types;
  std::vector<Sized> sized = {};
  bool can_be_marked = true;  ///< whether each one holds a mark

  Outputs(CompiledModel& model, const std::vector<int>& elem_types) : types(elem_types) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Port& port = model.outputs()[i];
      if (!port.is_sized()) {
        can_be_marked = can_be_marked && model.unsized()[i];
        continue;
      }
      sized.push_back({i, *port.shape});
      std::size_t count = 1;
      for (const std::int64_t extent : *port.shape) count *= static_cast<std::size_t>(extent);
      can_be_marked = can_be_marked && holds_mark(ort::packed_bytes(types[i], count));
    }
  }

  /// Of those whose sizes are known.
  [[nodiscard]] std::vector<ort::ValueInfo> infos() const {
    std::vector<ort::ValueInfo> infos;
    if (!can_be_marked) return infos;
    for (const auto& [index, shape] : sized) {
      ort::ValueInfo& info = infos.emplace_back();
      info.kind = "tensor";
      info.elem_type = types[index];
      info.shape.emplace();
      for (const std::int64_t extent : shape) info.shape->push_back({extent, ""});
    }
    return infos;
  }
};

constexpr const char* no_answer = "OpenVINO: a run ended without an answer and without an error";

/// A copy in memory of ours.
ValuePtr ours(const Made& made, int elem_type) {
  auto tensor = ort::make_tensor(elem_type, made.shape);
  if (tensor->bytes() != made.bytes) throw std::runtime_error("an output of another size");
  if (made.bytes > 0) std::memcpy(tensor->data(), made.data, made.bytes);
  return tensor;
}

class OpenVinoKernel final : public LibraryKernel {
 public:
  OpenVinoKernel(Shared& shared, KernelParams params)
      : shared_(shared),
        params_(std::move(params)),
        copies_(shared_, params_, std::make_unique<CompiledModel>(shared.cores(), params_)),
        known_(*copies_.take(), params_.output_types),
        pool_(known_.infos()) {}

  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    if (takes(inputs)) {
      try {
        if (run(inputs, outputs)) return;
      } catch (const std::exception& error) {
        // What a failed run leaves behind may come up in any other (README.md).
        shared_.fail(error.what());
      }
    }
    std::ranges::fill(outputs, nullptr);
    otherwise().execute(inputs, outputs, token);
  }

  void export_to(const std::string& path) const override {
    const Copies::Lease lease = copies_.take();
    require(lease);
    lease->export_to(path);
  }
  [[nodiscard]] std::vector<OperatorTime> operator_times() const override {
    const Copies::Lease lease = copies_.take();
    require(lease);
    return lease->operator_times();
  }
  [[nodiscard]] bool is_dropped() const noexcept override { return copies_.is_closed(); }

 private:
  [[nodiscard]] bool takes(std::span<const ValuePtr> inputs) const {
    if (shared_.has_failed() || copies_.is_closed()) return false;
    const bool fits = have_its_sizes(inputs);
    if (sizes_.note(fits)) drop();
    return fits && (params_.takes_any_number || have_usual_numbers(inputs));
  }

  [[nodiscard]] bool have_its_sizes(std::span<const ValuePtr> inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (ort::unwrap(inputs[i]) == nullptr) return false;
      const auto& tensor = static_cast<const ort::OnnxValue&>(*inputs[i]);
      const TensorType& wanted = params_.inputs[i];
      if (tensor.kind() != ort::ValueKind::kTensor || tensor.elem_type() != wanted.elem_type ||
          tensor.shape() != wanted.shape)
        return false;
    }
    return true;
  }

  [[nodiscard]] bool have_usual_numbers(std::span<const ValuePtr> inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& tensor = static_cast<const ort::OnnxValue&>(*inputs[i]);
      if (!are_usual(params_.inputs[i].elem_type, tensor.data(), tensor.bytes())) return false;
    }
    return true;
  }

  /// Goes on without what was compiled, whose memory is free from now on.
  void drop() const {
    copies_.close();
    pool_.close();
  }

  /// What else than queries needs a copy. Throws std::runtime_error where there is none any more.
  static void require(const Copies::Lease& lease) {
    if (!lease) throw std::runtime_error("the compiled model was dropped");
  }

  /// False where there is no copy any more.
  [[nodiscard]] bool run(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs) const {
    const Copies::Lease lease = copies_.take();
    if (!lease) return false;
    CompiledModel& model = *lease;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& tensor = static_cast<const ort::OnnxValue&>(*inputs[i]);
      model.set(model.inputs()[i], params_.inputs[i].shape, address_of(tensor));
    }
    if (known_.can_be_marked) {
      run_marked(model, outputs);
      return true;
    }
    model.run_elsewhere();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      outputs[i] = ours(model.made(model.outputs()[i]), known_.types[i]);
    return true;
  }

  void run_marked(CompiledModel& model, std::span<ValuePtr> outputs) const {
    ort::OutputPool::Set made;
    if (!pool_.take(made))
      for (const auto& [index, shape] : known_.sized)
        made.push_back(ort::make_tensor(known_.types[index], shape));
    for (std::size_t i = 0; i < made.size(); ++i) {
      const auto& [index, shape] = known_.sized[i];
      put_mark(made[i]->data(), made[i]->bytes());
      model.set(model.outputs()[index], shape, made[i]->data());
    }
    for (std::optional<UnsizedOutput>& output : model.unsized())
      if (output) output->mark();
    model.run_here();
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (has_mark(made[i]->data(), made[i]->bytes())) throw std::runtime_error(no_answer);
      outputs[known_.sized[i].index] = std::move(made[i]);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!model.unsized()[i]) continue;
      const std::optional<Made> found = model.unsized()[i]->made();
      if (!found) throw std::runtime_error(no_answer);
      outputs[i] = ours(*found, known_.types[i]);
    }
  }

  [[nodiscard]] const Kernel& otherwise() const {
    std::call_once(otherwise_once_, [this] { otherwise_ = params_.otherwise(); });
    return *otherwise_;
  }

  Shared& shared_;
  const KernelParams params_;
  mutable Copies copies_;
  const Outputs known_;
  mutable ort::OutputPool pool_;
  mutable SizesSeen sizes_;
  mutable std::once_flag otherwise_once_;
  mutable std::shared_ptr<const Kernel> otherwise_;
};

class OpenVino final : public KernelLibrary {
 public:
  explicit OpenVino(const std::string& path) : shared_(path) {}

  [[nodiscard]] std::string version() const override {
    const Api& api = shared_.cores().api();
    OvVersion version{};
    api.check(api.ov_get_openvino_version(&version), "to say its version");
    std::string build = version.build == nullptr ? "" : version.build;
    api.ov_version_free(&version);
    return build;
  }
  [[nodiscard]] std::shared_ptr<const LibraryKernel> make(KernelParams params) override {
    return std::make_shared<OpenVinoKernel>(shared_, std::move(params));
  }
  [[nodiscard]] std::string failure() const override { return shared_.failure(); }

 private:
  mutable Shared shared_;
};

}  // namespace

std::unique_ptr<KernelLibrary> open(const std::string& path) {
  return std::make_unique<OpenVino>(path);
}

}  // namespace engine::kernels::openvino
