// Many short lists of indices in two arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace placement {

using Index = std::int32_t;

/// Of no task, link or device.
constexpr Index nobody = -1;

/// Filled list by list, then only read.
class IndexLists {
 public:
  /// A list more, which holds these.
  void add(const std::vector<Index>& list) {
    all_.insert(all_.end(), list.begin(), list.end());
    begin_.push_back(all_.size());
  }

  [[nodiscard]] std::span<const Index> operator[](Index list) const noexcept {
    const auto place = static_cast<std::size_t>(list);
    return {all_.data() + begin_[place], all_.data() + begin_[place + 1]};
  }

 private:
  std::vector<Index> all_;
  std::vector<std::size_t> begin_{0};
};

}  // namespace placement
