// Operators of an ONNX file whose answers depend on how many threads compute them; read without
// ONNX Runtime.
#pragma once

#include <string>
#include <string_view>

namespace engine {

/// What several threads within an operator would change of a model's answers.
struct ThreadEffects {
  /// They write to one place: ScatterND with a reduction, whose indices may come twice, is wrong
  /// from run to run (ONNX Runtime's issues 18048 and 23396).
  bool race = false;
  /// Each quantises the part of the batch that it gets by that part's range.
  bool quantise = false;
};

/// Of a model in ONNX's format, bodies and local functions included, or in ONNX Runtime's own, of
/// which only names are looked at. Weights are passed over. O(bytes of the model's text).
[[nodiscard]] ThreadEffects thread_effects(std::string_view model);

/// The same of a file, which is mapped; of one that cannot be read, nothing.
[[nodiscard]] ThreadEffects thread_effects_of(const std::string& path) noexcept;

}  // namespace engine
