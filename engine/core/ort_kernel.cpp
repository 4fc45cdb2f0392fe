#include "ort_kernel.hpp"

#include <array>
#include <utility>

#include "ort_session.hpp"
#include "ort_value.hpp"

namespace engine {
namespace {

using ort::InferenceSession;

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

class OrtCancelToken final : public CancelToken {
 public:
  OrtCancelToken()
      : api_(ort::Runtime::get().api()),
        options_(ort::create<OrtRunOptions>(api_.create_run_options)) {}
  void cancel() noexcept override { ignore(api_.set_terminate(options_.get())); }
  void reset() noexcept override { ignore(api_.unset_terminate(options_.get())); }
  [[nodiscard]] const OrtRunOptions* options() const noexcept { return options_.get(); }

 private:
  void ignore(OrtStatus* status) const noexcept {
    if (status != nullptr) api_.release_status(status);
  }

  const ort::Api& api_;
  ort::Handle<OrtRunOptions> options_;
};

class OrtKernel final : public Kernel {
 public:
  OrtKernel(const ort::SessionParams& params, const std::vector<std::string>& input_names,
            const std::vector<std::string>& output_names)
      : session_(params) {
    for (const std::string& name : input_names) {
      inputs_.push_back(session_.input(name).name.c_str());
    }
    for (const std::string& name : output_names) {
      const ort::ValueInfo& info = session_.output(name);
      outputs_.push_back(info.name.c_str());
      optional_.push_back(info.kind == "optional");
    }
  }

  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    Scratch<const OrtValue*> values(inputs.size());
    Scratch<const char*> names(inputs.size());
    const std::size_t count = collect(inputs, values, names);
    Scratch<OrtValue*> results(outputs.size());
    const OrtRunOptions* options =
        token == nullptr ? nullptr : static_cast<const OrtCancelToken*>(token)->options();
    ort::check(
        session_.run({names.data(), count}, values.data(), outputs_, results.data(), options));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = ort::wrap_output(results[i], optional_[i]);
    }
  }

 private:
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

  InferenceSession session_;
  std::vector<const char*> inputs_;
  std::vector<const char*> outputs_;
  std::vector<bool> optional_;  // of each output: whether it may hold nothing
};

}  // namespace

std::shared_ptr<const Kernel> make_ort_kernel(const std::string& model_path_or_bytes, bool is_bytes,
                                              std::vector<std::string> input_names,
                                              std::vector<std::string> output_names, int width,
                                              const std::string& level,
                                              const std::map<std::string, std::string>& config) {
  const ort::SessionParams params{.model = model_path_or_bytes,
                                  .is_bytes = is_bytes,
                                  .width = width,
                                  .level = level,
                                  .config = config};
  return std::make_shared<OrtKernel>(params, input_names, output_names);
}

std::unique_ptr<CancelToken> make_ort_cancel_token() { return std::make_unique<OrtCancelToken>(); }

}  // namespace engine
