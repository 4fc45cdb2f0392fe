// What a target is: a file that defines these three functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "random.hpp"

namespace engine::fuzz {

constexpr std::size_t most_input_bytes = 64 * 1024;

/// Inputs that are well formed, from which others are made.
[[nodiscard]] std::vector<std::string> seeds();

/// One change of an input, mostly such that what is around it still makes sense.
[[nodiscard]] std::string mutated(std::string input, Random& random);

/// Ends the process, as a sanitizer does, where something does not hold.
inline void must(bool holds) {
  if (!holds) std::abort();
}

/// Decisions that an input takes with it: the same each time that it is run.
[[nodiscard]] inline Random random_of(std::string_view input) noexcept {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;  // FNV-1a
  for (const char c : input) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3;
  return Random(hash);
}

}  // namespace engine::fuzz

/// Runs one input; 0. libFuzzer's name of it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
