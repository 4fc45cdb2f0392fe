#include "ort/kernel.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "ort/cancel.hpp"
#include "ort/output_pool.hpp"
#include "ort/plugin.hpp"
#include "ort/value.hpp"
#include "ort/wide_sessions.hpp"

namespace engine {
namespace {

using ort::InferenceSession;
using ort::OrtCancelToken;

/// An array that needs no allocation up to the size that nearly every segment has.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::size_t size) : data_(few_.data()) {
    if (size > few_.size()) {
      many_.resize(size);
      data_ = many_.data();
    }
  }
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }

 private:
  std::array<T, 16> few_{};
  std::vector<T> many_;
  T* data_;
};

std::vector<std::string> names_of(const std::vector<ort::ValueInfo>& infos) {
  std::vector<std::string> names;
  for (const ort::ValueInfo& info : infos) names.push_back(info.name);
  return names;
}

class OrtKernel final : public Kernel {
 public:
  OrtKernel(const ort::SessionParams& params, const std::vector<std::string>& input_names,
            const std::vector<std::string>& output_names)
      : session_(params),
        pool_(poolable(*session_.use(), output_names)),
        input_names_(input_names),
        output_names_(output_names) {
    look_up_names();
  }

  /// All of the session's inputs and outputs, in its order.
  explicit OrtKernel(const ort::SessionParams& params)
      : session_(params),
        pool_(poolable(*session_.use(), names_of(session_.use()->outputs()))),
        input_names_(names_of(session_.use()->inputs())),
        output_names_(names_of(session_.use()->outputs())) {
    look_up_names();
  }

  [[nodiscard]] std::shared_ptr<const InferenceSession> session() const { return session_.use(); }
  [[nodiscard]] const std::vector<std::string>& input_names() const noexcept {
    return input_names_;
  }
  [[nodiscard]] const std::vector<std::string>& output_names() const noexcept {
    return output_names_;
  }
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    Scratch<const OrtValue*> values(inputs.size());
    Scratch<const char*> names(inputs.size());
    const std::size_t count = collect(inputs, values, names);
    const OrtRunOptions* options =
        token == nullptr ? nullptr : static_cast<const OrtCancelToken*>(token)->options();
    const std::span<const char* const> present(names.data(), count);
    const auto session = session_.use();
    bool refused = false;
    if (run_pooled(*session, present, values.data(), outputs, options, refused)) return;
    Scratch<OrtValue*> results(outputs.size());
    ort::check(session->run(present, values.data(), outputs_, results.data(), options));
    // It runs without pooled outputs, so their shapes were wrong; a failure of its own throws.
    if (refused) pool_.close();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = ort::wrap_output(results[i], optional_[i]);
      if (may_alias(*outputs[i], inputs)) outputs[i] = apart(std::move(outputs[i]), inputs);
    }
  }

 private:
  void look_up_names() {
    const auto session = session_.use();
    for (const std::string& name : input_names_) {
      inputs_.push_back(name.c_str());
      plain_ = plain_ && session->input(name).kind == "tensor";
    }
    for (const std::string& name : output_names_) {
      const ort::ValueInfo& info = session->output(name);
      outputs_.push_back(name.c_str());
      optional_.push_back(info.kind == "optional");
      plain_ = plain_ && info.kind == "tensor";
    }
  }

  /// Names and values of the inputs that are there; returns how many.
  std::size_t collect(std::span<const ValuePtr> inputs, Scratch<const OrtValue*>& values,
                      Scratch<const char*>& names) const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values[count] = ort::unwrap(inputs[i]);
      if (values[count] == nullptr) continue;  // absent: ONNX Runtime wants it left out
      names[count++] = inputs_[i];
    }
    return count;
  }

  /// Outputs that a pool may make, all or none: ONNX Runtime leaves a tensor that is there for an
  /// output as it is where that output is an input.
  static std::vector<ort::ValueInfo> poolable(const InferenceSession& session,
                                              const std::vector<std::string>& names) {
    std::vector<ort::ValueInfo> found;
    for (const std::string& name : names) {
      if (session.reads(name)) return {};
      found.push_back(session.output(name));
    }
    return found;
  }

  /// Runs into pooled outputs; false if there are none, or if that failed (`refused`).
  bool run_pooled(const InferenceSession& session, std::span<const char* const> names,
                  const OrtValue* const* values, std::span<ValuePtr> outputs,
                  const OrtRunOptions* options, bool& refused) const {
    ort::OutputPool::Set set;
    if (!pool_.take(set)) return false;
    Scratch<OrtValue*> results(set.size());
    for (std::size_t i = 0; i < set.size(); ++i) results[i] = set[i]->get();
    OrtStatus* status = session.run(names, values, outputs_, results.data(), options);
    if (status == nullptr) {
      std::ranges::move(set, outputs.begin());
      return true;
    }
    const auto& api = ort::Runtime::get().api();
    // A failure of its own throws.
    if (!ort::blames_output(api.get_error_message(status))) ort::check(status);
    // A wrong shape fails here and would not without the pool: run again before it is an error.
    api.release_status(status);
    refused = true;
    return false;
  }

  /// Whether an output may share memory with an input (pass-through, sequences). Pooled inputs
  /// would be written again while somebody still reads the output.
  bool may_alias(const Value& output, std::span<const ValuePtr> inputs) const {
    return !plain_ || is_one_of(output, inputs);
  }

  /// Whether it is a tensor over the memory of one of them.
  static bool is_one_of(const Value& output, std::span<const ValuePtr> inputs) {
    const void* data = address_of(output);
    return data != nullptr && std::ranges::any_of(inputs, [&](const ValuePtr& input) {
             return input && address_of(*input) == data;
           });
  }

  static const void* address_of(const Value& value) {
    const auto& known = static_cast<const ort::OnnxValue&>(value);
    return known.kind() == ort::ValueKind::kTensor ? known.data() : nullptr;
  }

  /// The same content, whatever becomes of the inputs' memory.
  static ValuePtr apart(ValuePtr output, std::span<const ValuePtr> inputs) {
    const ValuePtr copy = is_one_of(*output, inputs) ? output->copied() : nullptr;
    return copy ? copy : keeping(std::move(output), inputs);
  }

  /// The same value, holding the inputs as long as it lives.
  static ValuePtr keeping(ValuePtr output, std::span<const ValuePtr> inputs) {
    auto held = std::make_shared<std::pair<ValuePtr, std::vector<ValuePtr>>>(
        std::move(output), std::vector<ValuePtr>(inputs.begin(), inputs.end()));
    const Value* value = held->first.get();
    return {std::move(held), value};
  }

  ort::PlanSession session_;
  mutable ort::OutputPool pool_;
  bool plain_ = true;  // whether all inputs and outputs are tensors
  std::vector<std::string> input_names_;
  std::vector<std::string> output_names_;
  std::vector<const char*> inputs_;
  std::vector<const char*> outputs_;
  std::vector<bool> optional_;  // of each output: whether it may hold nothing
};

/// Kernels by what they are made of, as long as somebody holds them. Never destroyed.
struct Kernels {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const Kernel>> all;
};

Kernels& kernels() {
  static Kernels* const instance = new Kernels;
  return *instance;
}

/// What tells one kernel from another: the file as it is now, names, width, options.
std::string key_of(const ort::SessionParams& params, const std::vector<std::string>& input_names,
                   const std::vector<std::string>& output_names) {
  struct stat file{};
  if (::stat(params.model.c_str(), &file) != 0) return {};  // opening it will say what is wrong
  std::string key = params.model;
  const auto add = [&key](const std::string& part) { (key += '\0') += part; };
  add(std::to_string(file.st_dev) + ' ' + std::to_string(file.st_ino) + ' ' +
      std::to_string(file.st_size) + ' ' + std::to_string(file.st_mtim.tv_sec) + ' ' +
      std::to_string(file.st_mtim.tv_nsec) + ' ' + std::to_string(params.width) + ' ' +
      std::to_string(input_names.size()));
  add(params.level);
  add(params.plugin == nullptr ? "" : params.plugin->name());
  for (const std::string& name : input_names) add(name);
  for (const std::string& name : output_names) add(name);
  for (const auto& [name, value] : params.config) {
    add(name);
    add(value);
  }
  return key;
}

std::shared_ptr<const Kernel> find_kernel(const std::string& key) {
  const std::lock_guard lock(kernels().mutex);
  const auto found = kernels().all.find(key);
  return found == kernels().all.end() ? nullptr : found->second.lock();
}

void keep_kernel(const std::string& key, const std::shared_ptr<const Kernel>& kernel) {
  const std::lock_guard lock(kernels().mutex);
  std::erase_if(kernels().all, [](const auto& entry) { return entry.second.expired(); });
  kernels().all[key] = kernel;
}

/// That of another plan, or a new one.
std::shared_ptr<const Kernel> shared_kernel(const ort::SessionParams& params,
                                            const std::vector<std::string>& input_names,
                                            const std::vector<std::string>& output_names) {
  const std::string key = params.is_bytes ? "" : key_of(params, input_names, output_names);
  if (!key.empty()) {
    if (auto kernel = find_kernel(key)) return kernel;
  }
  std::shared_ptr<const Kernel> kernel =
      std::make_shared<OrtKernel>(params, input_names, output_names);
  if (!key.empty()) keep_kernel(key, kernel);
  return kernel;
}

}  // namespace

std::shared_ptr<const Kernel> make_ort_kernel(const std::string& model_path_or_bytes, bool is_bytes,
                                              std::vector<std::string> input_names,
                                              std::vector<std::string> output_names, int width,
                                              const std::string& level,
                                              const std::map<std::string, std::string>& config,
                                              ort::Plugin* plugin) {
  const ort::SessionParams params{.model = model_path_or_bytes,
                                  .is_bytes = is_bytes,
                                  .width = width,
                                  .level = level,
                                  .config = config,
                                  .plugin = plugin};
  const auto make = [&] { return shared_kernel(params, input_names, output_names); };
  return plugin == nullptr ? make() : plugin->make(make);
}

WholeModel open_whole_model(const ort::SessionParams& params) {
  auto kernel = std::make_shared<const OrtKernel>(params);
  const std::string key = key_of(params, kernel->input_names(), kernel->output_names());
  if (!key.empty()) keep_kernel(key, kernel);
  const ort::InferenceSession& session = *kernel->session();
  return {kernel, {session.inputs(), session.outputs(), !session.overridable().empty()}, [kernel] {
            return kernel->session();
          }};
}

std::unique_ptr<CancelToken> make_ort_cancel_token() { return std::make_unique<OrtCancelToken>(); }

}  // namespace engine
