#include "files/onnx_threads.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/onnx_fields.hpp"

namespace engine {

namespace {

using namespace onnx;

constexpr std::uint64_t model_functions = 25, function_node = 7, attribute_s = 4;
constexpr int deepest_body = 100;
constexpr std::string_view ort_identifier = "ORTM", scatters = "ScatterND",
                           quantises = "DynamicQuantizeLSTM";

void look_at_nodes(std::string_view message, std::uint64_t node_field, int depth,
                   ThreadEffects& found);

/// Notes the bodies' effects; whether it is a reduction.
bool look_at_attribute(std::string_view message, int depth, ThreadEffects& found) {
  std::string_view name, text;
  Fields fields(message);
  while (const auto field = fields.next()) {
    if (field->id == attribute_name) name = field->bytes;
    if (field->id == attribute_s) text = field->bytes;
    if (field->id == attribute_g || field->id == attribute_graphs)
      look_at_nodes(field->bytes, graph_node, depth + 1, found);
  }
  return name == "reduction" && !text.empty() && text != "none";
}

void look_at_node(std::string_view message, int depth, ThreadEffects& found) {
  std::string_view op_type;
  bool reduces = false;
  Fields fields(message);
  while (const auto field = fields.next()) {
    if (field->id == node_op_type) op_type = field->bytes;
    if (field->id == node_attribute)
      reduces = look_at_attribute(field->bytes, depth, found) || reduces;
  }
  found.race = found.race || (reduces && op_type == scatters);
  found.quantise = found.quantise || op_type == quantises;
}

void look_at_nodes(std::string_view message, std::uint64_t node_field, int depth,
                   ThreadEffects& found) {
  if (depth > deepest_body) return;  // ONNX Runtime does not load it either
  Fields fields(message);
  while (const auto field = fields.next())
    if (field->id == node_field) look_at_node(field->bytes, depth, found);
}

/// A file that is mapped as long as this lives; empty where that fails.
class MappedText {
 public:
  explicit MappedText(const char* path) noexcept {
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    struct stat state{};
    if (::fstat(descriptor, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 0) {
      size_ = static_cast<std::size_t>(state.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    ::close(descriptor);
  }
  ~MappedText() {
    if (data_ != MAP_FAILED) ::munmap(data_, size_);
  }
  MappedText(const MappedText&) = delete;
  MappedText& operator=(const MappedText&) = delete;

  [[nodiscard]] std::string_view text() const noexcept {
    return data_ == MAP_FAILED ? std::string_view()
                               : std::string_view(static_cast<const char*>(data_), size_);
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

}  // namespace

ThreadEffects thread_effects(std::string_view model) {
  if (model.substr(0, 8).ends_with(ort_identifier))
    return {model.find(scatters) != model.npos, model.find(quantises) != model.npos};
  ThreadEffects found;
  Fields fields(model);
  while (const auto field = fields.next()) {
    if (field->id == model_graph) look_at_nodes(field->bytes, graph_node, 0, found);
    if (field->id == model_functions) look_at_nodes(field->bytes, function_node, 0, found);
  }
  return found;
}

ThreadEffects thread_effects_of(const std::string& path) noexcept {
  const MappedText file(path.c_str());
  return thread_effects(file.text());
}

}  // namespace engine
