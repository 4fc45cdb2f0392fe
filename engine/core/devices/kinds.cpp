#include "devices/kinds.hpp"

#include <algorithm>
#include <deque>
#include <mutex>

namespace engine {

namespace {

struct Kinds {
  std::mutex mutex;
  std::deque<DeviceKind> known{cpu_kind(), emulated_kind(), cuda::cuda_kind(), plugin_kind()};

  const DeviceKind* find(const std::string& name) {
    const auto found = std::ranges::find(known, name, &DeviceKind::name);
    return found == known.end() ? nullptr : &*found;
  }
};

Kinds& kinds() {
  static Kinds kinds;
  return kinds;
}

}  // namespace

const DeviceKind& kind_of(const DeviceParams& params) {
  const std::lock_guard lock(kinds().mutex);
  if (const DeviceKind* found = kinds().find(params.kind)) return *found;
  std::string names;
  for (const DeviceKind& kind : kinds().known) names += (names.empty() ? "" : ", ") + kind.name;
  params.require(false, "kind '" + params.kind + "' is unknown, there are " + names);
  throw std::logic_error("unreachable");
}

void add_kind(DeviceKind kind) {
  const std::lock_guard lock(kinds().mutex);
  if (kinds().find(kind.name) != nullptr)
    throw std::invalid_argument("there is a kind '" + kind.name + "' already");
  kinds().known.push_back(std::move(kind));
}

}  // namespace engine
