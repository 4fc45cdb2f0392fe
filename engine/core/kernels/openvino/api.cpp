#include "kernels/openvino/api.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace engine::kernels::openvino {

Api::Api(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error("OpenVINO cannot be loaded: " + std::string(dlerror()));
  const auto find = [&]<typename Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr)
      throw std::runtime_error("OpenVINO's library " + path + " lacks the function " + name);
  };
#define FIND(name) find(name, #name)
  FIND(ov_get_openvino_version);
  FIND(ov_version_free);
  FIND(ov_get_last_err_msg);
  FIND(ov_get_error_info);
  FIND(ov_free);
  FIND(ov_core_create);
  FIND(ov_core_free);
  FIND(ov_core_set_property);
  FIND(ov_core_read_model);
  FIND(ov_core_compile_model);
  FIND(ov_core_import_model);
  FIND(ov_model_free);
  FIND(ov_model_reshape);
  FIND(ov_compiled_model_export_model);
  FIND(ov_compiled_model_create_infer_request);
  FIND(ov_compiled_model_input_by_name);
  FIND(ov_compiled_model_output_by_name);
  FIND(ov_compiled_model_free);
  FIND(ov_port_get_element_type);
  FIND(ov_port_get_partial_shape);
  FIND(ov_partial_shape_free);
  FIND(ov_output_const_port_free);
  FIND(ov_infer_request_set_tensor_by_const_port);
  FIND(ov_infer_request_get_tensor_by_const_port);
  FIND(ov_infer_request_infer);
  FIND(ov_infer_request_start_async);
  FIND(ov_infer_request_wait);
  FIND(ov_infer_request_get_profiling_info);
  FIND(ov_profiling_info_list_free);
  FIND(ov_infer_request_free);
  FIND(ov_tensor_create);
  FIND(ov_tensor_set_shape);
  FIND(ov_tensor_create_from_host_ptr);
  FIND(ov_tensor_get_shape);
  FIND(ov_tensor_get_byte_size);
  FIND(ov_tensor_data);
  FIND(ov_tensor_free);
  FIND(ov_shape_free);
#undef FIND
}

void Api::check(int status, const char* what) const {
  if (status == 0) return;
  const char* said = ov_get_last_err_msg();
  const std::string message = said == nullptr ? "" : said;
  if (said != nullptr) ov_free(said);
  throw std::runtime_error("OpenVINO: " + std::string(what) +
                           " failed: " + (message.empty() ? ov_get_error_info(status) : message));
}

}  // namespace engine::kernels::openvino
