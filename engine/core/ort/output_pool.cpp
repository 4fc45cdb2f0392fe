#include "ort/output_pool.hpp"

#include <algorithm>
#include <atomic>

#include "ort/types.hpp"

namespace engine::ort {
namespace {

// Above this, allocating is cheap beside computing, and memory is better shared.
constexpr std::size_t kLargestOutputBytes = std::size_t{64} << 10;
constexpr std::size_t kMostSets = 16;

bool is_free(const OutputPool::Set& set) {
  return std::ranges::all_of(set, [](const auto& tensor) { return tensor.use_count() == 1; });
}

}  // namespace

OutputPool::OutputPool(const std::vector<ValueInfo>& outputs) {
  for (const ValueInfo& info : outputs) {
    std::size_t bits = element_bits(info.elem_type);
    const bool plain = info.kind == "tensor" && info.shape && bits >= 8;
    Shape shape{info.elem_type, {}};
    if (plain) {
      for (const ValueInfo::Dimension& dimension : *info.shape) {
        if (dimension.extent <= 0) bits = 0;
        bits *= static_cast<std::size_t>(std::max<std::int64_t>(dimension.extent, 0));
        if (bits / 8 > kLargestOutputBytes) bits = 0;
        shape.extents.push_back(dimension.extent);
      }
    }
    if (!plain || bits == 0) {
      shapes_.clear();
      return;
    }
    shapes_.push_back(std::move(shape));
  }
}

bool OutputPool::take(Set& set) {
  const std::lock_guard lock(mutex_);
  if (shapes_.empty()) return false;
  const auto found = std::ranges::find_if(sets_, is_free);
  if (found == sets_.end()) {
    if (sets_.size() == kMostSets) return false;
    sets_.push_back(make());
    set = sets_.back();
    return true;
  }
  // acquire: what the last holders read happened before what we let be written
  std::atomic_thread_fence(std::memory_order_acquire);
  set = *found;
  return true;
}

void OutputPool::close() {
  const std::lock_guard lock(mutex_);
  shapes_.clear();
  sets_.clear();
}

OutputPool::Set OutputPool::make() const {
  Set set;
  for (const Shape& shape : shapes_) set.push_back(make_tensor(shape.elem_type, shape.extents));
  return set;
}

}  // namespace engine::ort
