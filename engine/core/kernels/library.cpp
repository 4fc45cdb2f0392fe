#include "kernels/library.hpp"

#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "kernels/openvino/kernel.hpp"

namespace engine::kernels {
namespace {

using Maker = std::unique_ptr<KernelLibrary> (*)(const std::string& path);

/// Every library there is.
const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> all{{"openvino", &openvino::open}};
  return all;
}

/// Never destroyed: lanes may run its kernels until the process ends.
struct Open {
  std::mutex mutex;  // held while one is opened
  std::map<std::string, std::pair<std::string, std::unique_ptr<KernelLibrary>>> by_name;
};

Open& open() {
  static Open* const instance = new Open;
  return *instance;
}

}  // namespace

KernelLibrary& open_library(const std::string& name, const std::string& path) {
  const auto maker = makers().find(name);
  if (maker == makers().end())
    throw std::invalid_argument("there is no library of kernels '" + name + "'");
  const std::lock_guard lock(open().mutex);
  const auto known = open().by_name.find(name);
  if (known == open().by_name.end()) {
    auto library = maker->second(path);
    return *(open().by_name[name] = {path, std::move(library)}).second;
  }
  const auto& [opened_path, library] = known->second;
  if (opened_path != path)
    throw std::runtime_error("'" + name + "' is already loaded from " + opened_path +
                             "; it cannot be loaded again from " + path);
  return *library;
}

KernelLibrary& get_library(const std::string& name) {
  const std::lock_guard lock(open().mutex);
  const auto known = open().by_name.find(name);
  if (known == open().by_name.end())
    throw std::runtime_error("the library of kernels '" + name + "' is not open");
  return *known->second.second;
}

}  // namespace engine::kernels
