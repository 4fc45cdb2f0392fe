#include "kernels/openvino/kernel.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "kernels/openvino/copies.hpp"
#include "ort/output_pool.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine::kernels::openvino {
namespace {

/// Written into outputs before a run: what is still there was not computed.
constexpr std::uint64_t mark = 0x7fb1a5c3d29e6f84;

void* address_of(const ort::OnnxValue& tensor) {
  alignas(64) static std::byte nothing[64];
  void* const data = tensor.data();
  return data != nullptr ? data : nothing;
}

template <typename T>
bool in_32_bits(const ort::OnnxValue& tensor) {
  const auto* data = static_cast<const T*>(tensor.data());
  return std::all_of(data, data + tensor.bytes() / sizeof(T),
                     [](T number) { return std::in_range<std::int32_t>(number); });
}

/// Whether the numbers are those that OpenVINO computes with.
bool has_its_numbers(const ort::OnnxValue& tensor, int elem_type) {
  switch (elem_type) {
    case ort::kInt64:
      return in_32_bits<std::int64_t>(tensor);
    case ort::kUint64:
      return in_32_bits<std::uint64_t>(tensor);
    case ort::kUint32:
      return in_32_bits<std::uint32_t>(tensor);
    default:
      return true;
  }
}

/// What is known of the outputs before a run.
struct Outputs {
  std::vector<int> types;
  std::vector<std::optional<std::vector<std::int64_t>>> shapes = {};
  bool can_be_marked = true;  ///< whether each one's place is known, and holds a mark

  Outputs(const CompiledModel& model, const std::vector<int>& elem_types) : types(elem_types) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      shapes.push_back(model.outputs()[i].shape);
      std::size_t count = 1;
      if (shapes[i])
        for (const std::int64_t extent : *shapes[i]) count *= static_cast<std::size_t>(extent);
      const bool fits = ort::packed_bytes(types[i], count) >= sizeof(mark);
      can_be_marked = can_be_marked && shapes[i] && fits;
    }
  }

  [[nodiscard]] std::vector<ort::ValueInfo> infos() const {
    std::vector<ort::ValueInfo> infos;
    if (!can_be_marked) return infos;
    for (std::size_t i = 0; i < types.size(); ++i) {
      ort::ValueInfo& info = infos.emplace_back();
      info.kind = "tensor";
      info.elem_type = types[i];
      info.shape.emplace();
      for (const std::int64_t extent : *shapes[i]) info.shape->push_back({extent, ""});
    }
    return infos;
  }
};

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
        return run(inputs, outputs);
      } catch (const std::exception& error) {
        // What a failed run leaves behind may come up in any other (README.md).
        shared_.fail(error.what());
      }
    }
    std::ranges::fill(outputs, nullptr);
    otherwise().execute(inputs, outputs, token);
  }

  void export_to(const std::string& path) const override { copies_.take()->export_to(path); }
  [[nodiscard]] std::vector<OperatorTime> operator_times() const override {
    return copies_.take()->operator_times();
  }

 private:
  [[nodiscard]] bool takes(std::span<const ValuePtr> inputs) const {
    if (shared_.has_failed()) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (ort::unwrap(inputs[i]) == nullptr) return false;
      const auto& tensor = static_cast<const ort::OnnxValue&>(*inputs[i]);
      const TensorType& wanted = params_.inputs[i];
      if (tensor.kind() != ort::ValueKind::kTensor || tensor.elem_type() != wanted.elem_type ||
          tensor.shape() != wanted.shape || !has_its_numbers(tensor, wanted.elem_type))
        return false;
    }
    return true;
  }

  void run(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs) const {
    const Copies::Lease lease = copies_.take();
    CompiledModel& model = *lease;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& tensor = static_cast<const ort::OnnxValue&>(*inputs[i]);
      model.set(model.inputs()[i], params_.inputs[i].shape, address_of(tensor));
    }
    if (known_.can_be_marked) return run_marked(model, outputs);
    model.run_elsewhere();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const CompiledModel::Made made = model.made(model.outputs()[i]);
      auto tensor = ort::make_tensor(known_.types[i], made.shape);
      if (tensor->bytes() != made.bytes) throw std::runtime_error("an output of another size");
      if (made.bytes > 0) std::memcpy(tensor->data(), made.data, made.bytes);
      outputs[i] = std::move(tensor);
    }
  }

  void run_marked(CompiledModel& model, std::span<ValuePtr> outputs) const {
    ort::OutputPool::Set made;
    if (!pool_.take(made))
      for (std::size_t i = 0; i < outputs.size(); ++i)
        made.push_back(ort::make_tensor(known_.types[i], *known_.shapes[i]));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      void* const data = made[i]->data();
      std::memcpy(data, &mark, sizeof(mark));
      model.set(model.outputs()[i], *known_.shapes[i], data);
    }
    model.run_here();
    for (const auto& tensor : made)
      if (std::memcmp(tensor->data(), &mark, sizeof(mark)) == 0)
        throw std::runtime_error("OpenVINO: a run ended without an answer and without an error");
    std::ranges::move(made, outputs.begin());
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
