// OpenVINO's C functions, found when the library is opened: no headers, nothing to link against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace engine::kernels::openvino {

// Opaque to us, too.
using OvCore = struct OpaqueOvCore;
using OvModel = struct OpaqueOvModel;
using OvCompiled = struct OpaqueOvCompiled;
using OvRequest = struct OpaqueOvRequest;
using OvTensor = struct OpaqueOvTensor;
using OvPort = struct OpaqueOvPort;  ///< a const one

struct OvShape {
  std::int64_t rank;
  std::int64_t* dims;
};
struct OvDimension {
  std::int64_t min;
  std::int64_t max;
};
struct OvPartialShape {
  OvDimension rank;
  OvDimension* dims;
};
struct OvProfilingInfo {
  int status;
  std::int64_t real_time, cpu_time;  ///< microseconds
  const char *node_name, *exec_type, *node_type;
};
struct OvProfilingInfos {
  OvProfilingInfo* infos;
  std::size_t count;
};
struct OvVersion {
  const char* build;
  const char* description;
};

/// The functions that we use, of versions 2024 to 2026. A status other than 0 is an error.
struct Api {
  int (*ov_get_openvino_version)(OvVersion*);
  void (*ov_version_free)(OvVersion*);
  const char* (*ov_get_last_err_msg)();
  const char* (*ov_get_error_info)(int);
  void (*ov_free)(const char*);
  int (*ov_core_create)(OvCore**);
  void (*ov_core_free)(OvCore*);
  int (*ov_core_set_property)(const OvCore*, const char* device, ...);
  int (*ov_core_read_model)(const OvCore*, const char* path, const char* weights, OvModel**);
  int (*ov_core_compile_model)(const OvCore*, const OvModel*, const char* device,
                               std::size_t properties, OvCompiled**, ...);
  int (*ov_core_import_model)(const OvCore*, const char* content, std::size_t bytes,
                              const char* device, OvCompiled**);
  void (*ov_model_free)(OvModel*);
  int (*ov_model_reshape)(const OvModel*, const char** names, const OvPartialShape*,
                          std::size_t count);
  int (*ov_compiled_model_export_model)(const OvCompiled*, const char* path);
  int (*ov_compiled_model_create_infer_request)(const OvCompiled*, OvRequest**);
  int (*ov_compiled_model_input_by_name)(const OvCompiled*, const char*, OvPort**);
  int (*ov_compiled_model_output_by_name)(const OvCompiled*, const char*, OvPort**);
  void (*ov_compiled_model_free)(OvCompiled*);
  int (*ov_port_get_element_type)(const OvPort*, int*);
  int (*ov_port_get_partial_shape)(const OvPort*, OvPartialShape*);
  void (*ov_partial_shape_free)(OvPartialShape*);
  void (*ov_output_const_port_free)(OvPort*);
  int (*ov_infer_request_set_tensor_by_const_port)(OvRequest*, const OvPort*, const OvTensor*);
  int (*ov_infer_request_get_tensor_by_const_port)(const OvRequest*, const OvPort*, OvTensor**);
  int (*ov_infer_request_infer)(OvRequest*);
  int (*ov_infer_request_start_async)(OvRequest*);
  int (*ov_infer_request_wait)(OvRequest*);
  int (*ov_infer_request_get_profiling_info)(const OvRequest*, OvProfilingInfos*);
  void (*ov_profiling_info_list_free)(OvProfilingInfos*);
  void (*ov_infer_request_free)(OvRequest*);
  int (*ov_tensor_create)(int type, OvShape, OvTensor**);
  int (*ov_tensor_set_shape)(OvTensor*, OvShape);
  int (*ov_tensor_create_from_host_ptr)(int type, OvShape, void* data, OvTensor**);
  int (*ov_tensor_get_shape)(const OvTensor*, OvShape*);
  int (*ov_tensor_get_byte_size)(const OvTensor*, std::size_t*);
  int (*ov_tensor_data)(const OvTensor*, void**);
  void (*ov_tensor_free)(OvTensor*);
  int (*ov_shape_free)(OvShape*);

  /// Never unloaded. Throws std::runtime_error naming the path and what is missing.
  explicit Api(const std::string& path);
  /// Throws std::runtime_error with OpenVINO's own message unless `status` is 0.
  void check(int status, const char* what) const;
};

/// Owns an object of OpenVINO.
template <typename T>
class Handle {
 public:
  using Free = void (*)(T*);

  Handle() = default;
  Handle(T* object, Free free) : object_(object, free) {}
  [[nodiscard]] T* get() const noexcept { return object_.get(); }

 private:
  std::unique_ptr<T, Free> object_{nullptr, nullptr};
};

/// What a function of the library makes. Throws std::runtime_error naming what it was to do.
template <typename T, typename Function, typename... Args>
[[nodiscard]] Handle<T> made_by(const Api& api, typename Handle<T>::Free free, const char* what,
                                const Function& function, Args... args) {
  T* object = nullptr;
  api.check(function(args..., &object), what);
  return {object, free};
}

}  // namespace engine::kernels::openvino
