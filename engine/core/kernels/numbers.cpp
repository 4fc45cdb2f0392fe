#include "kernels/numbers.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "ort/types.hpp"

namespace engine::kernels {
namespace {

/// Bits of a floating-point number such that adding the last of the exponent to the magnitude
/// reaches the sign where the exponent is all ones: for infinities and NaN, and for these alone.
template <std::unsigned_integral Word, int mantissa_bits>
struct Finite {
  using Bits = Word;
  static constexpr Word sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  template <typename Some>
  static Some unusual(Some words) {
    constexpr auto magnitude = static_cast<Word>(sign - 1);
    constexpr auto last = static_cast<Word>(Word{1} << mantissa_bits);
    return ((words & magnitude) + last) & sign;
  }
};

/// What is left of a whole number above 31 bits, after `offset` was added.
template <std::unsigned_integral Word, int kept_bits, std::uint64_t offset>
struct Whole {
  using Bits = Word;
  template <typename Some>
  static Some unusual(Some words) {
    return (words + static_cast<Word>(offset)) >> kept_bits;
  }
};

/// Sixteen bytes at once, in any order: explicit, since -O2 makes vectors of few loops.
template <typename Rule>
bool all_usual(const void* data, std::size_t bytes) noexcept {
  using Word = typename Rule::Bits;
  using Words __attribute__((vector_size(16))) = Word;
  constexpr std::size_t block = 4096;
  const auto* at = static_cast<const std::byte*>(data);
  const std::byte* const end = at + bytes;
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(Words))) {
    const auto left = static_cast<std::size_t>(end - at) / sizeof(Words) * sizeof(Words);
    const std::byte* const stop = at + std::min(block, left);
    Words seen{};
    for (; at != stop; at += sizeof(Words)) {
      Words words;
      std::memcpy(&words, at, sizeof words);
      seen |= Rule::unusual(words);
    }
    Word any = 0;
    for (std::size_t i = 0; i < sizeof(Words) / sizeof(Word); ++i)
      any = static_cast<Word>(any | seen[i]);
    if (any != 0) return false;
  }
  for (; at != end; at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    if (static_cast<Word>(Rule::unusual(word)) != 0) return false;
  }
  return true;
}

}  // namespace

bool are_usual(int elem_type, const void* data, std::size_t bytes) noexcept {
  switch (elem_type) {
    case ort::kFloat:
      return all_usual<Finite<std::uint32_t, 23>>(data, bytes);
    case ort::kFloat16:
      return all_usual<Finite<std::uint16_t, 10>>(data, bytes);
    case ort::kBfloat16:
      return all_usual<Finite<std::uint16_t, 7>>(data, bytes);
    case ort::kDouble:
      return all_usual<Finite<std::uint64_t, 52>>(data, bytes);
    case ort::kInt64:
      return all_usual<Whole<std::uint64_t, 32, 0x8000'0000>>(data, bytes);
    case ort::kUint64:
      return all_usual<Whole<std::uint64_t, 31, 0>>(data, bytes);
    case ort::kUint32:
      return all_usual<Whole<std::uint32_t, 31, 0>>(data, bytes);
    default:
      return true;
  }
}

}  // namespace engine::kernels
