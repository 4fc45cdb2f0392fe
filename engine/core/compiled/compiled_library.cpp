#include "compiled/compiled_library.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <stdexcept>

namespace engine {
namespace {

/// Never destroyed: plans may run segments until the process ends.
struct Libraries {
  std::mutex mutex;
  std::map<std::string, void*> by_path;
};

void* open_library(const std::string& path) {
  static Libraries& open = *new Libraries;
  const std::lock_guard lock(open.mutex);
  void*& handle = open.by_path[path];
  if (handle == nullptr) handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw std::runtime_error("library " + path + " cannot be loaded: " + dlerror());
  return handle;
}

}  // namespace

CompiledSegment find_compiled_segment(const std::string& library_path, const std::string& symbol) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("library " + library_path + ": symbol '" + symbol + "' " + why);
  };
  const void* found = dlsym(open_library(library_path), symbol.c_str());
  if (found == nullptr) refuse("is not there");
  const auto& segment = *static_cast<const SurplusSegment*>(found);
  if (segment.abi < 1 || segment.abi > SURPLUS_SEGMENT_ABI)
    refuse("is a segment of version " + std::to_string(segment.abi) +
           " of the interface, or none at all; wanted is version 1 to " +
           std::to_string(SURPLUS_SEGMENT_ABI));
  if (segment.inputs < 0 || segment.outputs < 1)
    refuse("has " + std::to_string(segment.inputs) + " inputs and " +
           std::to_string(segment.outputs) + " outputs");
  if (segment.shapes == nullptr || segment.run == nullptr) refuse("lacks a function");
  if (segment.abi == 1) return {segment};
  if (segment.struct_size < sizeof(SurplusSegment))
    refuse("says that it has " + std::to_string(segment.struct_size) + " bytes, of version 2 are " +
           std::to_string(sizeof(SurplusSegment)));
  if ((segment.create == nullptr) != (segment.destroy == nullptr))
    refuse("has one of create() and destroy() without the other");
  return {segment, segment.create, segment.destroy};
}

}  // namespace engine
