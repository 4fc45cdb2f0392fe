// libFuzzer's inputs are changed as our own driver's are, and come from the same seeds.
#include <algorithm>
#include <cstring>
#include <utility>

#include "target.hpp"

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using namespace engine::fuzz;
  static const std::vector<std::string> all = seeds();
  Random random(seed);
  // Its first input is empty.
  std::string input = size < 2 || random.one_in(100)
                          ? all[random.below(all.size())]
                          : std::string(reinterpret_cast<const char*>(data), size);
  for (std::size_t changes = 1 + random.below(3); changes > 0; --changes)
    input = mutated(std::move(input), random);
  const std::size_t bytes = std::min(input.size(), most);
  std::memcpy(data, input.data(), bytes);
  return bytes;
}
