// Ready nodes of one run on one device, by their place in the planned order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace engine {

/// A set of small numbers whose least one is found by two levels of bits: about 4 ns for a pair of
/// insert and pop, no allocation. One thread at a time.
class ReadySet {
 public:
  /// 64 numbers of the set from 64 * `index` on, as bits.
  struct Word {
    std::uint32_t index = 0;
    std::uint64_t bits = 0;

    [[nodiscard]] static std::uint64_t bit(std::uint32_t number) noexcept {
      return std::uint64_t{1} << number % 64;
    }
    /// The least number; not of an empty word, as the next.
    [[nodiscard]] std::uint32_t first() const noexcept {
      return 64 * index + static_cast<std::uint32_t>(std::countr_zero(bits));
    }
    /// Removes and returns the least number.
    [[nodiscard]] std::uint32_t pop_first() noexcept {
      const std::uint32_t number = first();
      bits &= bits - 1;
      return number;
    }
  };

  /// Room for the numbers below `size`; the set must be empty. Allocates when it grows.
  void reserve(std::size_t size) {
    if (size <= 64 * words_.size()) return;
    words_.resize((size + 63) / 64);
    summary_.resize((words_.size() + 63) / 64);
    lowest_ = summary_.size();
  }
  [[nodiscard]] bool empty() const noexcept { return lowest_ == summary_.size(); }
  /// `number` is below the reserved size.
  void insert(std::uint32_t number) noexcept { insert({number / 64, Word::bit(number)}); }
  void insert(const Word& word) noexcept {
    words_[word.index] |= word.bits;
    summary_[word.index / 64] |= Word::bit(word.index);
    lowest_ = std::min<std::size_t>(lowest_, word.index / 64);
  }
  /// Removes and returns the least number; not on an empty set, as the next two.
  [[nodiscard]] std::uint32_t pop_first() noexcept {
    Word word{first_index(), words_[first_index()]};
    const std::uint32_t number = word.pop_first();
    words_[word.index] = word.bits;
    if (word.bits == 0) forget_first();
    return number;
  }
  /// Removes and returns the least numbers, those of one word.
  [[nodiscard]] Word pop_word() noexcept {
    const Word word{first_index(), words_[first_index()]};
    words_[word.index] = 0;
    forget_first();
    return word;
  }
  /// The least numbers, those of one word.
  [[nodiscard]] Word first_word() const noexcept { return {first_index(), words_[first_index()]}; }
  /// Removes a number of that word.
  void erase_from_first_word(std::uint32_t number) noexcept {
    std::uint64_t& bits = words_[first_index()];
    bits &= ~Word::bit(number);
    if (bits == 0) forget_first();
  }
  /// Where the least number lies.
  [[nodiscard]] std::uint32_t first_index() const noexcept {
    return static_cast<std::uint32_t>(64 * lowest_) +
           static_cast<std::uint32_t>(std::countr_zero(summary_[lowest_]));
  }

 private:
  void forget_first() noexcept {
    summary_[lowest_] &= summary_[lowest_] - 1;
    while (lowest_ < summary_.size() && summary_[lowest_] == 0) ++lowest_;
  }

  std::vector<std::uint64_t> words_;    ///< bit n: number n is in the set
  std::vector<std::uint64_t> summary_;  ///< bit w: word w is not zero
  std::size_t lowest_ = 0;              ///< first word of summary_ that is not zero
};

}  // namespace engine
