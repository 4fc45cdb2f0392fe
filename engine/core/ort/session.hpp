// One ONNX Runtime session: creation, what the model takes and gives, running it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ort/runtime.hpp"
#include "ort/workers.hpp"

namespace engine::ort {

class Plugin;

/// What configuration entries begin with whose values are not ONNX Runtime's, but paths of
/// libraries of operators to register.
inline constexpr std::string_view kCustomOperators = "surplus.custom_operators.";

struct SessionParams {
  std::string model = {};  ///< a path, or the model itself
  bool is_bytes = false;
  int width = 1;                 ///< threads inside an operator; 1 creates no thread pool
  bool workers_asleep = false;   ///< a pool of its own begins with wake_workers() (ort/workers.hpp)
  bool are_races_known = false;  ///< without_races() has looked into the model
  bool shared_pool = false;      ///< on the env's pool (ort/pool.hpp), whatever the width
  std::string level = "all";     ///< optimisation: disable_all, basic, extended, layout, all
  std::map<std::string, std::string> config = {};  ///< session configuration entries
  std::string optimized_path = {};                 ///< where to save the optimised model, if set
  const Plugin* plugin = nullptr;  ///< the provider to prefer, if any (ort/plugin.hpp)
  std::string gpu_provider = {};   ///< on a GPU: the one to come first; empty: its device's
  /// Called when the model's file is read, before it is optimised, which runs some of its kernels.
  /// What it throws ends the opening. Not for bytes.
  std::function<void()> when_read = {};
};

/// The same with one thread, where the model has an operator of which ONNX Runtime's threads would
/// race (files/onnx_threads.hpp).
[[nodiscard]] SessionParams without_races(SessionParams params);

/// What a model declares of one input or output.
struct ValueInfo {
  struct Dimension {
    std::int64_t extent;  ///< -1 where unknown
    std::string symbol;   ///< its name, if it has one
  };
  std::string name;
  std::string kind;   ///< "tensor", "sequence", "map" or "optional"
  int elem_type = 0;  ///< of the innermost tensor; 0 where there is none
  std::optional<std::vector<Dimension>> shape = {};  ///< none: unknown rank
};

/// Immutable after construction. run() may be called from many threads at once and blocks.
class InferenceSession {
 public:
  /// Reads and optimises the model; takes milliseconds to seconds. Throws std::runtime_error
  /// with ONNX Runtime's message, std::invalid_argument for a bad width or level. `extend` adds to
  /// the options what `params` has no word for: providers, initializers. It has fewer threads than
  /// `params` says where these would race (without_races()).
  explicit InferenceSession(const SessionParams& params,
                            const std::function<void(OrtSessionOptions*)>& extend = {});

  /// What every run must be given (optional types aside).
  [[nodiscard]] const std::vector<ValueInfo>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const noexcept { return outputs_; }
  /// Initializers that a run may be given another value for.
  [[nodiscard]] const std::vector<ValueInfo>& overridable() const noexcept { return overridable_; }

  /// The output of that name. Throws std::runtime_error naming it and what the model has.
  [[nodiscard]] const ValueInfo& output(const std::string& name) const;
  /// The same of an input, or of an initializer that an input may override.
  [[nodiscard]] const ValueInfo& input(const std::string& name) const;
  /// Whether there is such an input, or an initializer that one may override.
  [[nodiscard]] bool reads(const std::string& name) const noexcept;

  /// For bindings and their runs.
  [[nodiscard]] OrtSession* get() const noexcept { return session_.get(); }

  /// Fills `outputs` (null on entry) with values that the caller owns. `options` may be null.
  [[nodiscard]] OrtStatus* run(std::span<const char* const> input_names,
                               const OrtValue* const* inputs,
                               std::span<const char* const> output_names, OrtValue** outputs,
                               const OrtRunOptions* options) const noexcept {
    if (workers_) {
      if (workers_->are_asleep())
        return run_asleep(input_names, inputs, output_names, outputs, options);
      workers_->keep_off_callers_cpu();
    }
    return api_.run(session_.get(), options, input_names.data(), inputs, input_names.size(),
                    output_names.data(), output_names.size(), outputs);
  }

  [[nodiscard]] bool are_workers_asleep() const noexcept {
    return workers_ && workers_->are_asleep();
  }
  /// Of a pool of its own; without one nothing happens.
  void wake_workers() const noexcept {
    if (workers_) workers_->wake();
  }
  void wake_workers_after(std::int64_t ns) const noexcept {
    if (workers_) workers_->wake_after(ns);
  }

 private:
  [[nodiscard]] OrtStatus* run_asleep(std::span<const char* const> input_names,
                                      const OrtValue* const* inputs,
                                      std::span<const char* const> output_names, OrtValue** outputs,
                                      const OrtRunOptions* options) const noexcept;
  struct Settled {
    SessionParams params;
  };
  InferenceSession(const Settled& settled, const std::function<void(OrtSessionOptions*)>& extend);

  const Api& api_;
  const std::unique_ptr<Workers> workers_;  // of a pool of its own; outlives the session
  Handle<OrtSession> session_;
  std::vector<ValueInfo> inputs_;
  std::vector<ValueInfo> overridable_;
  std::vector<ValueInfo> outputs_;
};

/// Whether a run failed at the tensors that it was given to write to; only ONNX Runtime's text
/// says.
[[nodiscard]] bool blames_output(std::string_view error) noexcept;

}  // namespace engine::ort
