// OpenVINO's C API as far as the core calls it: loaded by the tests in the place of the real one.
// Long because a library's whole API is here, and has one state.
#include "fake_openvino.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr int failed = -1;

std::atomic<std::size_t> objects, runs, elsewhere, compiled, imported, violations, threads,
    in_float32;
std::mutex error_mutex;
std::string last_error;

int fail(const std::string& text) {
  const std::lock_guard lock(error_mutex);
  last_error = text;
  return failed;
}

struct Object {
  Object() { ++objects; }
  Object(const Object&) { ++objects; }
  Object& operator=(const Object&) = default;
  ~Object() { --objects; }
};

struct Core : Object {
  std::map<std::string, std::string> properties;
};
struct Model : Object {
  std::string text;
  std::vector<std::int64_t> shape;
  bool counts = false;
  [[nodiscard]] bool has(const char* word) const { return text.find(word) != std::string::npos; }
};
struct Compiled : Object {
  Model model;
};
struct Port : Object {
  bool is_output = false;
  Model model;
};
/// What handles of one tensor share.
struct Contents : Object {
  std::vector<std::int64_t> shape;
  std::int64_t* data = nullptr;
  std::size_t element_bytes = 8;
  bool is_ours = true;
  std::vector<std::int64_t> own;
  [[nodiscard]] std::size_t count() const {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return count;
  }
  void put(std::size_t index, std::int64_t number) {
    const auto narrow = static_cast<std::int32_t>(number);
    if (element_bytes == 4) std::memcpy(reinterpret_cast<char*>(data) + 4 * index, &narrow, 4);
    if (element_bytes == 8) data[index] = number;
  }
  /// Our memory grows and stays; that of others must do.
  void resize(std::vector<std::int64_t> to) {
    const std::size_t before = count();
    shape = std::move(to);
    if (!is_ours && count() > before) ++violations;
    if (!is_ours) return;
    own.resize(std::max(own.size(), count()));
    data = own.data();
  }
};
struct Tensor : Object {
  std::shared_ptr<Contents> contents = std::make_shared<Contents>();
};
struct Request : Object {
  Model model;
  std::shared_ptr<Contents> input, output;
  std::atomic<bool> is_running{false};
  std::thread elsewhere;
  int status = 0;
  std::string error;
};

struct Shape {
  std::int64_t rank;
  std::int64_t* dims;
};
struct Dimension {
  std::int64_t min, max;
};
struct PartialShape {
  Dimension rank;
  Dimension* dims;
};
struct ProfilingInfo {
  int status;
  std::int64_t real_time, cpu_time;
  const char *node_name, *exec_type, *node_type;
};
struct ProfilingInfos {
  ProfilingInfo* infos;
  std::size_t count;
};
struct Version {
  const char* build;
  const char* description;
};

char* copy_of(const std::string& text) {
  char* copy = new char[text.size() + 1];
  std::memcpy(copy, text.c_str(), text.size() + 1);
  ++objects;
  return copy;
}

void check_properties(const Core& core) {
  const auto is = [&](const char* name, const char* value) {
    const auto found = core.properties.find(name);
    return found != core.properties.end() && found->second == value;
  };
  if (!is("NUM_STREAMS", "1") || !is("ENABLE_CPU_PINNING", "NO")) ++violations;
  in_float32 = is("INFERENCE_PRECISION_HINT", "f32");
  threads = static_cast<std::size_t>(std::stoi(core.properties.at("INFERENCE_NUM_THREADS")));
}

bool is_open(const Model& model) {
  return model.has("dynamic") || model.has("counting") || model.has("unranked") ||
         model.has("rows");
}

std::vector<std::int64_t> shape_of_output(const Model& model, const Contents& input) {
  if (model.has("counting")) return {input.data[0]};
  if (model.has("rows")) return {input.data[0], 0};
  return input.shape;
}

/// A port's extents: {0, -1} where they are open.
std::vector<Dimension> extents_of(const Port& port) {
  std::vector<Dimension> extents;
  const bool open = port.is_output && is_open(port.model);
  for (const std::int64_t extent : port.model.shape)
    extents.push_back(open ? Dimension{0, -1} : Dimension{extent, extent});
  if (port.is_output && port.model.has("rows")) extents.push_back({0, 0});
  return extents;
}

int compute(Request& request) {
  if (request.is_running.exchange(true)) ++violations;
  ++runs;
  if (request.model.has("slow")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  int status = 0;
  if (request.model.has("fails")) {
    status = fail("this run is meant to fail");
  } else if (!request.model.has("silent")) {
    const Contents& input = *request.input;
    Contents& output = *request.output;
    output.resize(shape_of_output(request.model, input));
    for (std::size_t i = 0; i < output.count(); ++i)
      output.put(i, input.data[std::min(i, input.count() - 1)] + 1);
  }
  request.is_running = false;
  return status;
}

}  // namespace

FAKE std::size_t fakeOpenVinoCount(const char* what) {
  const std::map<std::string, std::size_t> counts{
      {"objects", objects},   {"runs", runs},         {"elsewhere", elsewhere},
      {"compiled", compiled}, {"imported", imported}, {"violations", violations},
      {"threads", threads},   {"float32", in_float32}};
  return counts.at(what);
}

FAKE int ov_get_openvino_version(Version* version) {
  *version = {copy_of("2026.0.0-fake"), copy_of("")};
  return 0;
}
FAKE void ov_free(const char* text) {
  delete[] text;
  --objects;
}
FAKE void ov_version_free(Version* version) {
  ov_free(version->build);
  ov_free(version->description);
}
FAKE const char* ov_get_last_err_msg() {
  const std::lock_guard lock(error_mutex);
  return copy_of(last_error);
}
FAKE const char* ov_get_error_info(int) { return "an error"; }

FAKE int ov_core_create(Core** core) {
  *core = new Core;
  return 0;
}
FAKE void ov_core_free(Core* core) { delete core; }
FAKE int ov_core_set_property(Core* core, const char* device, ...) {
  va_list arguments;
  va_start(arguments, device);
  const char* key = va_arg(arguments, const char*);
  core->properties[key] = va_arg(arguments, const char*);
  va_end(arguments);
  return 0;
}
FAKE int ov_core_read_model(const Core*, const char* path, const char*, Model** model) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.find("refused") != std::string::npos)
    return fail("this model is meant to be refused");
  *model = new Model;
  (*model)->text = std::move(text);
  return 0;
}
FAKE void ov_model_free(Model* model) { delete model; }
FAKE int ov_model_reshape(Model* model, const char** names, const PartialShape* shapes,
                          std::size_t count) {
  if (count != 1 || std::string(names[0]) != "x") return fail("no such input");
  model->shape.clear();
  for (std::int64_t i = 0; i < shapes[0].rank.max; ++i)
    model->shape.push_back(shapes[0].dims[i].max);
  return 0;
}
FAKE int ov_core_compile_model(const Core* core, const Model* model, const char*, std::size_t,
                               Compiled** made, ...) {
  check_properties(*core);
  if (model->has("uncompilable")) return fail("this model is not meant to be compiled");
  ++compiled;
  *made = new Compiled;
  (*made)->model = *model;
  (*made)->model.counts = core->properties.contains("PERF_COUNT");
  return 0;
}
FAKE int ov_core_import_model(const Core* core, const char* content, std::size_t bytes, const char*,
                              Compiled** made) {
  check_properties(*core);
  const std::string all(content, bytes);
  const std::size_t end = all.find('|');
  if (end == std::string::npos) return fail("this is no compiled model");
  ++imported;
  *made = new Compiled;
  (*made)->model.text = all.substr(0, end);
  (*made)->model.shape = {std::stoll(all.substr(end + 1))};
  return 0;
}
FAKE int ov_compiled_model_export_model(const Compiled* model, const char* path) {
  std::ofstream(path) << model->model.text << '|' << model->model.shape.at(0);
  return 0;
}
FAKE void ov_compiled_model_free(Compiled* model) { delete model; }
FAKE int ov_compiled_model_create_infer_request(const Compiled* model, Request** request) {
  *request = new Request;
  (*request)->model = model->model;
  (*request)->input = std::make_shared<Contents>();
  (*request)->output = std::make_shared<Contents>();
  return 0;
}
FAKE int ov_compiled_model_input_by_name(const Compiled* model, const char* name, Port** port) {
  if (std::string(name) != "x") return fail("no such input");
  *port = new Port;
  (*port)->model = model->model;
  return 0;
}
FAKE int ov_compiled_model_output_by_name(const Compiled* model, const char* name, Port** port) {
  if (std::string(name) != "y") return fail("no such output");
  *port = new Port;
  (*port)->is_output = true;
  (*port)->model = model->model;
  return 0;
}
FAKE int ov_port_get_element_type(const Port* port, int* type) {
  const bool narrow = port->is_output && port->model.has("narrow");
  *type = port->model.has("halves") || narrow ? 9 : 10;
  return 0;
}
FAKE int ov_port_get_partial_shape(const Port* port, PartialShape* shape) {
  ++objects;
  const std::vector<Dimension> extents = extents_of(*port);
  const auto rank = static_cast<std::int64_t>(extents.size());
  *shape = {{rank, rank}, new Dimension[extents.size()]};
  if (port->is_output && port->model.has("unranked")) shape->rank = {0, -1};
  std::ranges::copy(extents, shape->dims);
  return 0;
}
FAKE void ov_partial_shape_free(PartialShape* shape) {
  --objects;
  delete[] shape->dims;
}
FAKE void ov_output_const_port_free(Port* port) { delete port; }

FAKE int ov_tensor_create(int type, Shape shape, Tensor** tensor) {
  *tensor = new Tensor;
  (*tensor)->contents->element_bytes = type == 9 ? 4 : 8;
  (*tensor)->contents->resize({shape.dims, shape.dims + shape.rank});
  return 0;
}
FAKE int ov_tensor_create_from_host_ptr(int type, Shape shape, void* data, Tensor** tensor) {
  *tensor = new Tensor;
  Contents& contents = *(*tensor)->contents;
  contents.shape.assign(shape.dims, shape.dims + shape.rank);
  contents.data = static_cast<std::int64_t*>(data);
  contents.is_ours = false;
  contents.element_bytes = type == 9 ? 4 : 8;
  return 0;
}
FAKE int ov_tensor_set_shape(Tensor* tensor, Shape shape) {
  tensor->contents->resize({shape.dims, shape.dims + shape.rank});
  return 0;
}
FAKE int ov_tensor_get_shape(const Tensor* tensor, Shape* shape) {
  ++objects;
  const std::vector<std::int64_t>& extents = tensor->contents->shape;
  *shape = {static_cast<std::int64_t>(extents.size()), new std::int64_t[extents.size()]};
  std::ranges::copy(extents, shape->dims);
  return 0;
}
FAKE int ov_shape_free(Shape* shape) {
  --objects;
  delete[] shape->dims;
  return 0;
}
FAKE int ov_tensor_get_byte_size(const Tensor* tensor, std::size_t* bytes) {
  *bytes = tensor->contents->element_bytes * tensor->contents->count();
  return 0;
}
FAKE int ov_tensor_data(const Tensor* tensor, void** data) {
  *data = tensor->contents->data;
  return 0;
}
FAKE void ov_tensor_free(Tensor* tensor) { delete tensor; }

FAKE int ov_infer_request_set_tensor_by_const_port(Request* request, const Port* port,
                                                   const Tensor* tensor) {
  const std::vector<Dimension> extents = extents_of(*port);
  const Contents& set = *tensor->contents;
  bool fits = set.shape.size() == extents.size();
  for (std::size_t i = 0; fits && i < extents.size(); ++i)
    fits = extents[i].max < 0 || extents[i].max == set.shape[i];
  if (!fits && set.count() > 0) return fail("a tensor of another size");
  (port->is_output ? request->output : request->input) = tensor->contents;
  return 0;
}
FAKE int ov_infer_request_get_tensor_by_const_port(const Request* request, const Port* port,
                                                   Tensor** tensor) {
  *tensor = new Tensor;
  (*tensor)->contents = port->is_output ? request->output : request->input;
  return 0;
}
FAKE int ov_infer_request_infer(Request* request) { return compute(*request); }
FAKE int ov_infer_request_start_async(Request* request) {
  request->elsewhere = std::thread([request] {
    ++elsewhere;
    request->status = compute(*request);
  });
  return 0;
}
FAKE int ov_infer_request_wait(Request* request) {
  request->elsewhere.join();
  return request->status;
}
FAKE int ov_infer_request_get_profiling_info(const Request* request, ProfilingInfos* infos) {
  if (!request->model.counts) return fail("performance counters are not on");
  ++objects;
  infos->infos =
      new ProfilingInfo[2]{{2, 7, 7, "add", "fake", "Add"}, {0, 0, 0, "x", "unknown", "Parameter"}};
  infos->count = 2;
  return 0;
}
FAKE void ov_profiling_info_list_free(ProfilingInfos* infos) {
  --objects;
  delete[] infos->infos;
}
FAKE void ov_infer_request_free(Request* request) { delete request; }
