#include "compiled/compiled_kernel.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

#include "compiled/compiled_library.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine {
namespace {

constexpr std::align_val_t kAlignment{64};

/// Aligned memory that grows, so that a run need not allocate.
class Workspace {
 public:
  Workspace() = default;
  Workspace(Workspace&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Workspace& operator=(Workspace&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Workspace() { ::operator delete(data_, kAlignment); }
  [[nodiscard]] void* at_least(std::size_t bytes) {
    if (bytes > bytes_) {
      *this = Workspace();
      data_ = ::operator new(bytes, kAlignment);
      bytes_ = bytes;
    }
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What one run at a time has of a segment.
struct Instance {
  Workspace workspace = {};
  void* state = nullptr;
};

/// Instances that no run uses now. Thread-safe.
class Instances {
 public:
  /// One of them, or a new one. Throws what `make` throws.
  template <typename Make>
  [[nodiscard]] Instance take(Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Instance taken = std::move(free_.back());
        free_.pop_back();
        return taken;
      }
    }
    return make();
  }
  void give_back(Instance instance) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(instance));
  }
  /// Those that are free, which no run may use any more.
  [[nodiscard]] std::vector<Instance>& all() { return free_; }

 private:
  std::mutex mutex_;  // held for nanoseconds
  std::vector<Instance> free_;
};

/// What a function is told of a run.
struct CompiledRun : SurplusRun {
  CompiledRun(int lanes_, void* workspace_, const CancelToken* token, void* state_)
      : SurplusRun{lanes_, workspace_, token, &asks_token, state_} {}
  static std::int32_t asks_token(const SurplusRun* run) {
    const auto* token = static_cast<const CancelToken*>(run->engine);
    return token != nullptr && token->is_cancelled() ? 1 : 0;
  }
};

std::span<const std::int64_t> dims_of(const SurplusTensor& tensor) {
  return {tensor.dims, static_cast<std::size_t>(tensor.rank)};
}

std::string text_of(int elem_type, std::span<const std::int64_t> dims) {
  std::string text = "type " + std::to_string(elem_type) + " [";
  for (std::size_t i = 0; i < dims.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

bool agrees(const DeclaredTensor& declared, const SurplusTensor& told) {
  if (declared.elem_type != 0 && declared.elem_type != told.elem_type) return false;
  if (!declared.shape) return true;
  return std::ranges::equal(*declared.shape, dims_of(told),
                            [](std::int64_t a, std::int64_t b) { return a < 0 || a == b; });
}

class CompiledKernel final : public Kernel {
 public:
  explicit CompiledKernel(CompiledParams params)
      : params_(std::move(params)),
        found_(find_compiled_segment(params_.library_path, params_.symbol)),
        segment_(found_.segment) {
    const std::size_t inputs = params_.inputs + params_.constants.size();
    const auto check = [this](const char* what, std::int32_t wanted, std::size_t given) {
      if (static_cast<std::size_t>(wanted) != given)
        fail("has " + std::to_string(wanted) + " " + what + ", the segment " +
             std::to_string(given));
    };
    check("inputs", segment_.inputs, inputs);
    check("outputs", segment_.outputs, params_.outputs.size());
    for (std::size_t i = 0; i < params_.constants.size(); ++i)
      constants_.push_back(described(params_.constants[i], params_.inputs + i));
    instances_.give_back(created());
  }
  CompiledKernel(const CompiledKernel&) = delete;
  CompiledKernel& operator=(const CompiledKernel&) = delete;
  ~CompiledKernel() override {
    if (found_.destroy != nullptr)
      for (const Instance& instance : instances_.all()) found_.destroy(instance.state);
  }

  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    std::vector<SurplusTensor> read;
    for (const ValuePtr& input : inputs) read.push_back(described(input, read.size()));
    read.insert(read.end(), constants_.begin(), constants_.end());
    std::vector<SurplusTensor> written(outputs.size());
    std::size_t workspace_bytes = 0;
    check(segment_.shapes(read.data(), written.data(), &workspace_bytes));
    std::vector<ValuePtr> made(outputs.size());
    for (std::size_t i = 0; i < written.size(); ++i) made[i] = allocated(written[i], i);
    Instance instance = instances_.take([this] { return created(); });
    const char* error = nullptr;
    try {
      const CompiledRun run(params_.lanes, instance.workspace.at_least(workspace_bytes), token,
                            instance.state);
      error = segment_.run(&run, read.data(), written.data());
    } catch (...) {  // no memory for the workspace
      instances_.give_back(std::move(instance));
      throw;
    }
    instances_.give_back(std::move(instance));
    check(error);
    std::ranges::move(made, outputs.begin());
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("'" + params_.symbol + "' of " + params_.library_path + " " + what);
  }
  void check(const char* error) const {
    if (error != nullptr) fail(std::string("failed: ") + error);
  }

  [[nodiscard]] Instance created() const {
    Instance made;
    if (found_.create != nullptr)
      check(found_.create(params_.lanes, constants_.data(),
                          static_cast<std::int32_t>(constants_.size()), &made.state));
    return made;
  }

  /// A tensor for the function to read.
  [[nodiscard]] SurplusTensor described(const ValuePtr& value, std::size_t index) const {
    const auto refuse = [&](const std::string& why) {
      fail("cannot read its input " + std::to_string(index) + ": " + why);
    };
    if (ort::unwrap(value) == nullptr) refuse("it is absent");
    const auto& tensor = static_cast<const ort::OnnxValue&>(*value);
    if (tensor.kind() != ort::ValueKind::kTensor) refuse("it is no tensor");
    SurplusTensor found{};
    found.elem_type = tensor.elem_type();
    if (ort::element_bits(found.elem_type) < 8)
      refuse("its elements, of type " + std::to_string(found.elem_type) + ", have no address");
    const std::vector<std::int64_t> shape = tensor.shape();
    if (shape.size() > SURPLUS_MAX_RANK)
      refuse("it has " + std::to_string(shape.size()) + " dimensions");
    found.rank = static_cast<std::int32_t>(shape.size());
    std::ranges::copy(shape, found.dims);
    found.data = address_of(tensor);
    return found;
  }

  /// Memory for an output as the function has described it, which is checked.
  [[nodiscard]] ValuePtr allocated(SurplusTensor& told, std::size_t index) const {
    const std::string whose = "says that its output " + std::to_string(index) + " has ";
    if (told.rank < 0 || told.rank > SURPLUS_MAX_RANK)
      fail(whose + std::to_string(told.rank) + " dimensions");
    if (ort::element_bits(told.elem_type) < 8)
      fail(whose + "elements of type " + std::to_string(told.elem_type));
    const DeclaredTensor& declared = params_.outputs[index];
    if (std::ranges::any_of(dims_of(told), [](std::int64_t extent) { return extent < 0; }) ||
        !agrees(declared, told))
      fail(whose + text_of(told.elem_type, dims_of(told)) + ", in the model it has " +
           text_of(declared.elem_type, declared.shape.value_or(std::vector<std::int64_t>{})));
    auto tensor = ort::make_tensor(told.elem_type, dims_of(told));
    told.data = address_of(*tensor);
    return tensor;
  }

  /// Never null, not even of a tensor without elements.
  static void* address_of(const ort::OnnxValue& tensor) {
    alignas(64) static std::byte nothing[64];
    void* data = tensor.data();
    return data != nullptr ? data : nothing;
  }

  const CompiledParams params_;
  const CompiledSegment found_;
  const SurplusSegment& segment_;
  std::vector<SurplusTensor> constants_;
  mutable Instances instances_;
};

}  // namespace

std::shared_ptr<const Kernel> make_compiled_kernel(CompiledParams params) {
  return std::make_shared<CompiledKernel>(std::move(params));
}

}  // namespace engine
