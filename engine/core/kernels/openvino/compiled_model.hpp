// A model compiled by OpenVINO for given sizes and a number of threads, and its infer request.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/library.hpp"
#include "kernels/openvino/api.hpp"
#include "kernels/openvino/blob.hpp"
#include "kernels/openvino/tensors.hpp"
#include "kernels/openvino/unsized_output.hpp"

namespace engine::kernels::openvino {

/// The open library and its cores, one for each number of threads, precision, and whether its
/// models time operators. Thread-safe.
class Cores {
 public:
  explicit Cores(const std::string& path) : api_(path) {}
  [[nodiscard]] const Api& api() const noexcept { return api_; }
  /// One whose models compute on one stream of as many threads as the segment is wide, the calling
  /// one among them.
  /// Throws std::runtime_error.
  [[nodiscard]] const OvCore* get(const KernelParams& params);

 private:
  const Api api_;
  std::mutex mutex_;
  std::map<std::tuple<int, std::string, bool>, Handle<OvCore>> all_;
};

/// An input or output of a compiled model.
struct Port {
  Handle<OvPort> handle;
  int type = 0;  ///< OpenVINO's number of its element type
  /// With any_extent where the data decide; none where they decide how many extents there are.
  std::optional<std::vector<std::int64_t>> shape = {};

  [[nodiscard]] bool is_sized() const;
};

/// One run at a time.
class CompiledModel {
 public:
  /// Compiles or imports. Throws std::runtime_error when OpenVINO does not take the model, lacks
  /// one of the names, or has elements of other sizes.
  CompiledModel(Cores& cores, const KernelParams& params);

  /// Lays a port over memory. Throws std::runtime_error.
  void set(const Port& port, std::span<const std::int64_t> shape, void* data);
  /// Computes in the calling thread; what fails may go unnoticed (README.md).
  void run_here() { api_.check(api_.ov_infer_request_infer(request_.get()), "a run"); }
  /// Computes in a thread of the library. Throws std::runtime_error when it fails.
  void run_elsewhere();
  /// What the last run made of an output.
  [[nodiscard]] Made made(const Port& port) const;
  void export_to(const std::string& path) const;
  [[nodiscard]] std::vector<OperatorTime> operator_times() const;

  [[nodiscard]] const std::vector<Port>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<Port>& outputs() const noexcept { return outputs_; }
  /// In the order of the outputs: those of any size that can be marked.
  [[nodiscard]] std::span<std::optional<UnsizedOutput>> unsized() noexcept { return unsized_; }

 private:
  [[nodiscard]] Handle<OvCompiled> compiled(const OvCore* core, const KernelParams& params);
  [[nodiscard]] Port port(int (*find)(const OvCompiled*, const char*, OvPort**),
                          const std::string& name, int elem_type) const;
  /// Gives the request a tensor for an output of any size.
  [[nodiscard]] std::optional<UnsizedOutput> unsized(const Port& port, int elem_type) const;

  const Api& api_;
  std::shared_ptr<const Blob> blob_;  // an imported model computes from it
  Handle<OvCompiled> compiled_;
  Handle<OvRequest> request_;
  std::vector<Port> inputs_, outputs_;
  std::vector<std::optional<UnsizedOutput>> unsized_;
};

}  // namespace engine::kernels::openvino
