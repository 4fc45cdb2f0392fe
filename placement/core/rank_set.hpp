// A set of ranks whose least is found in a few steps, however many there are.
#pragma once

#include <algorithm>
#include <array>
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
    auto words = (static_cast<std::size_t>(count) + bits - 1) / bits;
    for (; words > 1; words = (words + bits - 1) / bits) {
      begin_[levels_++] = words_.size();
      words_.resize(words_.size() + words);
    }
  }

  [[nodiscard]] bool empty() const noexcept { return top_ == 0; }

  void clear() noexcept {
    std::ranges::fill(words_, 0);
    top_ = 0;
  }

  void insert(Index rank) noexcept {
    auto place = static_cast<std::size_t>(rank);
    for (std::size_t level = 0; level < levels_; ++level, place /= bits)
      word(level, place) |= bit(place);
    top_ |= bit(place);
  }

  void erase(Index rank) noexcept {
    auto place = static_cast<std::size_t>(rank);
    for (std::size_t level = 0; level < levels_; ++level, place /= bits)
      if ((word(level, place) &= ~bit(place)) != 0) return;
    top_ &= ~bit(place);
  }

  /// Takes out the least; it must not be empty.
  Index take_first() noexcept {
    if (levels_ != 1) {
      const Index rank = first();
      erase(rank);
      return rank;
    }
    const std::size_t place = lowest(top_);
    std::uint64_t& word = words_[place];
    const std::size_t rank = place * bits + lowest(word);
    word &= word - 1;
    if (word == 0) top_ &= top_ - 1;
    return static_cast<Index>(rank);
  }

  /// The least; it must not be empty.
  [[nodiscard]] Index first() const noexcept { return descend(levels_, lowest(top_)); }

  /// The least above `rank`; nobody if there is none.
  [[nodiscard]] Index next(Index rank) const noexcept {
    auto place = static_cast<std::size_t>(rank);
    for (std::size_t level = 0; level <= levels_; ++level, place /= bits) {
      const std::uint64_t word = level < levels_ ? words_[begin_[level] + place / bits] : top_;
      const std::uint64_t above = word & mask_above(place % bits);
      if (above != 0) return descend(level, place / bits * bits + lowest(above));
    }
    return nobody;
  }

 private:
  static constexpr std::size_t bits = 64;

  static std::size_t lowest(std::uint64_t word) noexcept {
    return static_cast<std::size_t>(__builtin_ctzll(word));
  }
  static std::uint64_t bit(std::size_t place) noexcept {
    return std::uint64_t{1} << (place % bits);
  }
  static std::uint64_t mask_above(std::size_t bit) noexcept {
    return ~std::uint64_t{0} << bit & ~(std::uint64_t{1} << bit);
  }
  std::uint64_t& word(std::size_t level, std::size_t place) noexcept {
    return words_[begin_[level] + place / bits];
  }
  /// The least rank below a bit of a level.
  [[nodiscard]] Index descend(std::size_t level, std::size_t place) const noexcept {
    while (level > 0) {
      --level;
      place = place * bits + lowest(words_[begin_[level] + place]);
    }
    return static_cast<Index>(place);
  }

  std::uint64_t top_ = 0;               // the one word of the highest level
  std::size_t levels_ = 0;              // below that one
  std::array<std::size_t, 5> begin_{};  // of each, the ranks' first; 64^6 is above 2^31
  std::vector<std::uint64_t> words_;
};

}  // namespace placement
