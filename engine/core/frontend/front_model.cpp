#include "frontend/front_model.hpp"

#include <algorithm>
#include <charconv>

namespace engine::frontend {

namespace {

/// 0 for what is none.
std::uint64_t version_number(std::string_view version) noexcept {
  std::uint64_t number = 0;
  const char* const end = version.data() + version.size();
  const auto [at, error] = std::from_chars(version.data(), end, number);
  return error == std::errc() && at == end ? number : 0;
}

}  // namespace

bool Port::fits(const std::vector<std::int64_t>& shape) const noexcept {
  if (std::ranges::any_of(shape, [](std::int64_t size) { return size <= 0; })) return false;
  if (!extents) return true;
  if (extents->size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if ((*extents)[i] >= 0 && (*extents)[i] != shape[i]) return false;
  return true;
}

FrontCounts::Totals FrontCounts::take() noexcept {
  Totals taken;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    // relaxed, both: see add()
    taken.counts[kind] = counts_[kind].exchange(0, std::memory_order_relaxed);
    taken.nanoseconds[kind] = nanoseconds_[kind].exchange(0, std::memory_order_relaxed);
  }
  return taken;
}

std::optional<std::size_t> FrontModel::find(const std::vector<Port>& ports,
                                            std::string_view name) noexcept {
  const auto found = std::ranges::find(ports, name, &Port::name);
  if (found == ports.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ports.begin());
}

std::string FrontModel::text() const {
  return "model '" + called->name + "' version " + called->version;
}

void FrontModels::offer(FrontModelPtr model) {
  const std::lock_guard lock(mutex_);
  const ModelName& called = *model->called;
  models_[called.name][version_number(called.version)] = std::move(model);
}

void FrontModels::withdraw(const std::string& name, const std::string& version) {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(name);
  if (found == models_.end()) return;
  found->second.erase(version_number(version));
  if (found->second.empty()) models_.erase(found);
}

FrontModelPtr FrontModels::find(std::string_view name, std::string_view version) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(name);
  if (found == models_.end()) return nullptr;
  if (version.empty()) return found->second.rbegin()->second;
  const auto one = found->second.find(version_number(version));
  return one == found->second.end() || one->second->called->version != version ? nullptr
                                                                               : one->second;
}

}  // namespace engine::frontend
