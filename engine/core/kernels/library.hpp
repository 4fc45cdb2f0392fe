// Libraries of kernels beside ONNX Runtime's own, and what a node of a plan is made of with them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devices/kernel.hpp"

namespace engine::kernels {

struct TensorType {
  int elem_type = 0;  ///< ONNX's number
  std::vector<std::int64_t> shape = {};
};

struct KernelParams {
  std::string model_path;     ///< an ONNX file
  std::string compiled_path;  ///< what export_to() wrote of the same, or empty: compiled here
  std::vector<std::string> input_names, output_names;  ///< in the order of the node's values
  std::vector<TensorType> inputs;                      ///< the sizes that it is compiled for
  std::vector<int> output_types;                       ///< ONNX's element type of each
  int width = 1;                                       ///< lanes: as many threads
  int copies = 1;                 ///< at most so many runs at once; others wait
  std::string precision = "f32";  ///< that it computes in: f32, bf16 or f16
  bool times_operators = false;   ///< whether operator_times() is asked
  /// Whether to compute with numbers that are not usual ones (numbers.hpp), too: to learn what
  /// becomes of them.
  bool takes_any_number = false;
  /// ONNX Runtime's kernel of the same; called once, when a query needs it.
  std::function<std::shared_ptr<const Kernel>()> otherwise;
};

/// How long an operator took, by the name that the library gives it.
struct OperatorTime {
  std::string name;
  std::int64_t ns = 0;
};

/// A segment compiled by a library.
class LibraryKernel : public Kernel {
 public:
  /// Writes what compiled_path takes. Throws std::runtime_error.
  virtual void export_to(const std::string& path) const = 0;
  /// On average of the runs so far, in their order; 0 of what ran within another. Throws
  /// std::runtime_error if it was not made for that.
  [[nodiscard]] virtual std::vector<OperatorTime> operator_times() const = 0;
  /// Whether `otherwise` answers from now on, since most queries had other sizes. Thread-safe.
  [[nodiscard]] virtual bool is_dropped() const noexcept = 0;
};

/// An open library. Thread-safe, lives until the process ends.
class KernelLibrary {
 public:
  KernelLibrary() = default;
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;
  virtual ~KernelLibrary() = default;

  [[nodiscard]] virtual std::string version() const = 0;
  /// Compiles; takes up to seconds. Throws std::runtime_error saying why the library does not take
  /// the model.
  [[nodiscard]] virtual std::shared_ptr<const LibraryKernel> make(KernelParams params) = 0;
  /// Why its kernels are not used any more; empty while they are.
  [[nodiscard]] virtual std::string failure() const = 0;
};

/// Opens a library once per process: `path` counts the first time.
///
/// Throws std::invalid_argument for a name that nobody knows, std::runtime_error when the library
/// cannot be loaded, lacks a function, or was opened from another path.
KernelLibrary& open_library(const std::string& name, const std::string& path);

/// One that is open. Throws std::runtime_error if it is not.
[[nodiscard]] KernelLibrary& get_library(const std::string& name);

}  // namespace engine::kernels
