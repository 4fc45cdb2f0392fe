// A set of ranks whose least is found in a few steps, however many there are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "index_lists.hpp"

namespace placement {

/// A bit a rank, and above them a bit for each word of bits that has any, up to a single word: each
/// step costs one word a level, of which 3,000 ranks have two. Not thread-safe.
class RankSet {
 public:
  /// Ranks are below `count`.
  explicit RankSet(Index count) {
    auto words = static_cast<std::size_t>(count);
    do {
      words = (words + 63) / 64;
      begin_.push_back(words_.size());
      words_.resize(words_.size() + (words == 0 ? 1 : words));
    } while (words > 1);
  }

  [[nodiscard]] bool empty() const noexcept { return words_.back() == 0; }

  void clear() noexcept { std::ranges::fill(words_, 0); }

  void insert(Index rank) noexcept {
    auto place = static_cast<std::size_t>(rank);
    for (const std::size_t begin : begin_) {
      std::uint64_t& word = words_[begin + place / 64];
      const bool had_any = word != 0;
      word |= std::uint64_t{1} << (place % 64);
      if (had_any) return;
      place /= 64;
    }
  }

  void erase(Index rank) noexcept {
    auto place = static_cast<std::size_t>(rank);
    for (const std::size_t begin : begin_) {
      std::uint64_t& word = words_[begin + place / 64];
      word &= ~(std::uint64_t{1} << (place % 64));
      if (word != 0) return;
      place /= 64;
    }
  }

  /// The least; it must not be empty.
  [[nodiscard]] Index first() const noexcept { return descend(begin_.size(), 0); }

  /// The least above `rank`; nobody if there is none.
  [[nodiscard]] Index next(Index rank) const noexcept {
    auto place = static_cast<std::size_t>(rank);
    for (std::size_t level = 0; level < begin_.size(); ++level) {
      const std::uint64_t above = words_[begin_[level] + place / 64] & mask_above(place % 64);
      if (above != 0) return descend(level, place / 64 * 64 + lowest(above));
      place /= 64;
    }
    return nobody;
  }

 private:
  static std::size_t lowest(std::uint64_t word) noexcept {
    return static_cast<std::size_t>(std::countr_zero(word));
  }
  static std::uint64_t mask_above(std::size_t bit) noexcept {
    return ~std::uint64_t{0} << bit & ~(std::uint64_t{1} << bit);
  }
  /// The least rank below a bit of a level.
  [[nodiscard]] Index descend(std::size_t level, std::size_t place) const noexcept {
    while (level > 0) place = place * 64 + lowest(words_[begin_[--level] + place]);
    return static_cast<Index>(place);
  }

  std::vector<std::size_t> begin_;  // of each level, the ranks' first
  std::vector<std::uint64_t> words_;
};

}  // namespace placement
