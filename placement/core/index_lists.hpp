// Many short lists of indices in two arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace placement {

using Index = std::int32_t;

/// Of no task, link or device.
constexpr Index nobody = -1;

/// Where a vector has it.
constexpr std::size_t at(Index index) noexcept { return static_cast<std::size_t>(index); }

/// Filled list by list, then only read.
class IndexLists {
 public:
  /// A list more, which holds these. Throws std::length_error where all have 2^32 indices or more.
  void add(const std::vector<Index>& list) {
    all_.insert(all_.end(), list.begin(), list.end());
    if (all_.size() > UINT32_MAX) throw std::length_error("problem: 2^32 edges or more");
    begin_.push_back(static_cast<std::uint32_t>(all_.size()));
  }

  [[nodiscard]] std::span<const Index> operator[](Index list) const noexcept {
    const std::size_t place = at(list);
    return {all_.data() + begin_[place], all_.data() + begin_[place + 1]};
  }

 private:
  std::vector<Index> all_;
  std::vector<std::uint32_t> begin_{0};  // small, since caches hold little
};

}  // namespace placement
