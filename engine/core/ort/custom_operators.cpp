#include "ort/custom_operators.hpp"

#include <algorithm>
#include <mutex>

#include "ort/runtime.hpp"

namespace engine::ort {
namespace {

struct Added {
  std::mutex mutex;
  std::vector<std::string> paths;  // guarded by mutex
};

Added& added() {
  static Added all;
  return all;
}

}  // namespace

void add_custom_operators(const std::string& library_path) {
  const Api& api = Runtime::get().api();
  Added& all = added();
  const std::lock_guard lock(all.mutex);
  if (std::ranges::find(all.paths, library_path) != all.paths.end()) return;
  const auto options = create<OrtSessionOptions>(api.create_session_options);
  check(api.register_custom_operators(options.get(), library_path.c_str()));
  all.paths.push_back(library_path);
}

std::vector<std::string> custom_operators() {
  Added& all = added();
  const std::lock_guard lock(all.mutex);
  return all.paths;
}

}  // namespace engine::ort
