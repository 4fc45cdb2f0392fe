// Nodes of a plan that run one ONNX Runtime session.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/kernel.hpp"
#include "ort/session.hpp"

namespace engine {

namespace ort {
class Plugin;

/// What a model takes and gives, all of it.
struct Declared {
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  bool has_defaults = false;  ///< of inputs that a query may leave out
};

}  // namespace ort

/// A kernel over a session, which is that of another kernel of the same file, names, width and
/// options while one lives: plans of a model that have a segment in common share it. `input_names`
/// and `output_names` give the order of the values in execute(); they may leave out inputs that the
/// model does not need. Values must come from the ort layer. Null inputs and absent optionals are
/// left out of the run.
///
/// With a `plugin` (ort/plugin.hpp) the session prefers that provider, and is created and destroyed
/// by its thread; only its device may execute the kernel.
///
/// Takes as long as the session takes to create. Throws std::runtime_error with ONNX Runtime's
/// message when the model cannot be loaded or lacks a name, std::invalid_argument for a bad width
/// or level.
[[nodiscard]] std::shared_ptr<const Kernel> make_ort_kernel(
    const std::string& model_path_or_bytes, bool is_bytes, std::vector<std::string> input_names,
    std::vector<std::string> output_names, int width, const std::string& level,
    const std::map<std::string, std::string>& config, ort::Plugin* plugin = nullptr);

/// A model whose inputs and outputs are not known before it is open. Immutable.
struct WholeModel {
  std::shared_ptr<const Kernel> kernel;
  ort::Declared declared;
  std::function<std::shared_ptr<const ort::InferenceSession>()> session;  ///< that runs now
};

/// Opens a model's file on the CPU; as long as it lives, make_ort_kernel() with all of its inputs
/// and outputs, in its order, the same width, level and config returns its kernel. Takes as long as
/// the session takes to create; throws as make_ort_kernel() does.
[[nodiscard]] WholeModel open_whole_model(const ort::SessionParams& params);

/// A token that ends runs at their next operator boundary.
[[nodiscard]] std::unique_ptr<CancelToken> make_ort_cancel_token();

}  // namespace engine
